"""Cancellations of tasks that have had an attempt: one failed and is to be retried, or one was taken from a worker that is gone.

Drawn from a chance of their own, so that every other part of a world stays the same.
"""

from random import Random

import msgspec

from scenarios.judging.premise import UNSTATED_S
from scenarios.simulated.system import Terms
from scenarios.simulated.worlds.plan import PlannedTask, WorldPlan

SHARE = 0.06


def with_late_cancels(plan: WorldPlan, terms: Terms) -> WorldPlan:
    """The plan, in some worlds with one task that fails and is cancelled before its next attempt, or soon after it."""
    chance = Random(f"{plan.seed}/{plan.scenario}/late-cancels")
    if "cancel" not in terms.capabilities or chance.random() >= SHARE:
        return plan
    number = chance.randrange(len(plan.tasks))
    cancelled = _cancelled(chance, plan.tasks[number], terms.pace.lease_s or UNSTATED_S)
    return msgspec.structs.replace(plan, tasks=(*plan.tasks[:number], cancelled, *plan.tasks[number + 1 :]))


def _cancelled(chance: Random, task: PlannedTask, lease_s: float) -> PlannedTask:
    ending, after_s = chance.choice((("transient", 0.0), ("die", lease_s)))
    payload = {"task": task.task, "work_s": 0.01, "outcomes": [ending] * chance.choice((2, 3))}
    cancel_s = round(after_s + chance.uniform(0.02, 1.2), 3)
    return msgspec.structs.replace(task, payload=payload, cancel_s=cancel_s, redriven=False, deadline_s=None)

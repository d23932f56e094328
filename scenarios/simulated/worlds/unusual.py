"""What few worlds of the swarm have besides: work longer than a lease, messages never sent, messages lost, and rest at the end.

Drawn from a chance of their own, so that every other part of a world stays the same.
"""

from random import Random

import msgspec

from scenarios.judging.premises import UNSTATED_S
from scenarios.simulated.system import Terms
from scenarios.simulated.worlds.plan import DelayPlan, PlannedLoss, PlannedStray, PlannedTask, WorldPlan

Replace = msgspec.structs.replace

LONG_SHARE = 0.2
STRAY_SHARE = 0.1
REST_SHARE = 0.1
LOSS_SHARE = 0.04
LEASES_OF_LONG_WORK = 5.0
"""So many leases long is long work: beyond the time in which one renewal has to come, and below that for which a retry may wait."""
AFTER_THE_STORM_S = 5.0
"""When few faults are left to excuse a lease that runs out."""
SLOW_MAX_S = 0.01
"""Mean lateness of an answer up to which a lease is surely renewed in time."""
BODIES = (
    "",
    "not JSON",
    "\xff\xfe\x00",
    "null",
    "[]",
    "{}",
    '{"task_id": 7}',
    '{"task_id": ""}',
    '{"task_id": "no such task"}',
    '{"task_id": "01234567-89ab-7cde-8f01-23456789abcd"}',
    '{"task_id": "\\u0000\\ud800"}',
    f'{{"task_id": "{"x" * 300}"}}',
    "[" * 20_000,
)
"""Broken in every layer: bytes, JSON, type, length, depth; and intact, of a task that no client submitted."""


def with_unusual(plan: WorldPlan, terms: Terms) -> WorldPlan:
    """The plan, in some worlds with long work, a strange message, lost messages, or a wait until the system is at rest."""
    chance = Random(f"{plan.seed}/{plan.scenario}/unusual")
    if chance.random() < LONG_SHARE and is_quick(plan.delays):
        number = chance.randrange(len(plan.tasks))
        long = _long(chance, plan.tasks[number], terms.pace.lease_s or UNSTATED_S)
        plan = Replace(plan, tasks=(*plan.tasks[:number], long, *plan.tasks[number + 1 :]))
    if chance.random() < STRAY_SHARE:
        plan = Replace(plan, strays=(PlannedStray(round(chance.uniform(0.0, 1.2), 4), chance.choice(BODIES)),))
    plan = Replace(plan, awaits_rest=chance.random() < REST_SHARE)
    if chance.random() < LOSS_SHARE and terms.stands_forgotten_queues:
        plan = Replace(plan, loss=PlannedLoss(round(chance.uniform(0.0, 1.5), 4), round(chance.uniform(0.1, 1.5), 4)))
    return plan


def _long(chance: Random, task: PlannedTask, lease_s: float) -> PlannedTask:
    """The task with long work that succeeds; its deadline, if it gets one, comes while it works."""
    work_s = round(LEASES_OF_LONG_WORK * lease_s, 3)
    deadline_s = round(work_s * chance.uniform(0.3, 0.9), 3) if chance.random() < 0.3 else None
    at_s = chance.choice((task.at_s, AFTER_THE_STORM_S, AFTER_THE_STORM_S))
    return Replace(task, at_s=at_s, payload={"task": task.task, "work_s": work_s}, deadline_s=deadline_s)


def is_quick(delays: DelayPlan) -> bool:
    """Whether no lease runs out for the slowness of the network alone."""
    return delays.kind == "steady" or (delays.kind == "erratic" and delays.slow_share * delays.slow_s <= SLOW_MAX_S)

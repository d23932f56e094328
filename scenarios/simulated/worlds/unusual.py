"""What few worlds of the swarm have besides: long work, messages never sent, messages lost, rest at the end, and rarer things.

Drawn from a chance of their own, so that every other part of a world stays the same.
"""

from random import Random

import msgspec

from chaos.faults import PauseProcess
from scenarios.judging.premise import UNSTATED_S
from scenarios.simulated.system import Terms
from scenarios.simulated.worlds.plan import (
    SURE_TRIES,
    DelayPlan,
    PlannedCallFault,
    PlannedLoss,
    PlannedStray,
    PlannedStrike,
    PlannedTask,
    WorldPlan,
)

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
LONG_WORK_MIN_S = 1.0
"""Work above this lasts for longer than a lease: one such task in a world is enough."""
FAR_SHARE = 0.1
FAR_DEADLINE_S = 60.0
"""Longer than any drain: a task that waits for it is stuck."""
STOP_SHARE = 0.2
LEASES_OF_STOPPABLE_WORK = 4.0
LATE_SHARE = 0.04
TAKEN_SHARE = 0.05
ONLY_SLOT = "worker-1/slot 1"
CLAIMING_CALLS = (7, 8)
"""The calls of a slot that read the first task that it has claimed, and commit the claim."""
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
        plan = _with_task(plan, number, long)
    if chance.random() < STRAY_SHARE:
        plan = Replace(plan, strays=(PlannedStray(round(chance.uniform(0.0, 1.2), 4), chance.choice(BODIES)),))
    plan = Replace(plan, awaits_rest=chance.random() < REST_SHARE)
    if chance.random() < LOSS_SHARE and terms.stands_forgotten_queues:
        plan = Replace(plan, loss=PlannedLoss(round(chance.uniform(0.0, 1.5), 4), round(chance.uniform(0.1, 1.5), 4)))
    return _with_rarer(Random(f"{plan.seed}/{plan.scenario}/rarer"), plan, terms.pace.lease_s or UNSTATED_S)


def _with_rarer(chance: Random, plan: WorldPlan, lease_s: float) -> WorldPlan:
    """The plan, in some worlds with a deadline that never passes, in some with a handler that asks whether to stop."""
    number = chance.randrange(len(plan.tasks))
    task = plan.tasks[number]
    if chance.random() < FAR_SHARE and task.deadline_s is None:
        return _with_task(plan, number, Replace(task, deadline_s=FAR_DEADLINE_S))
    if chance.random() < STOP_SHARE and is_quick(plan.delays) and not _has_long_work(plan):
        return _with_stoppable(chance, plan, number, lease_s)
    if chance.random() < LATE_SHARE:
        return _late_answer(chance, plan, lease_s)
    return _taken_over(chance, plan, lease_s) if chance.random() < TAKEN_SHARE and is_quick(plan.delays) else plan


def _has_long_work(plan: WorldPlan) -> bool:
    """Whether one task works for as long as a retry may wait for a worker that is free; a second one would be too much."""
    return any(task.payload.get("work_s", 0.0) > LONG_WORK_MIN_S for task in plan.tasks)


def _with_task(plan: WorldPlan, number: int, task: PlannedTask) -> WorldPlan:
    return Replace(plan, tasks=(*plan.tasks[:number], task, *plan.tasks[number + 1 :]))


def _with_stoppable(chance: Random, plan: WorldPlan, number: int, lease_s: float) -> WorldPlan:
    """The plan with a handler that asks whether to stop; its task is cancelled, or its deadline comes, while it works; or neither."""
    task = plan.tasks[number]
    work_s = round(LEASES_OF_STOPPABLE_WORK * lease_s, 3)
    after_s = round(work_s * chance.uniform(0.1, 0.5), 3)
    why = chance.choice(("cancelled", "expired", ""))
    stoppable = Replace(
        task,
        at_s=chance.choice((task.at_s, AFTER_THE_STORM_S)),
        payload={"task": task.task, "work_s": work_s, "stops": True},
        cancel_s=after_s if why == "cancelled" else None,
        deadline_s=after_s if why == "expired" else None,
    )
    plan = _with_task(plan, number, stoppable)
    if why != "expired":
        return plan
    # The world has to last until the handler could have been told.
    name, at_s = f"task-{len(plan.tasks) + 1}", stoppable.at_s + work_s
    return Replace(plan, tasks=(*plan.tasks, PlannedTask(round(at_s, 3), name, {"task": name}, tries=1)))


def _late_answer(chance: Random, plan: WorldPlan, lease_s: float) -> WorldPlan:
    """A first task whose deadline passes while its only worker stands still, between its claim and the answer to it."""
    first = Replace(plan.tasks[0], at_s=0.0, tries=SURE_TRIES, deadline_s=round(chance.uniform(0.3, 0.9) * lease_s, 3))
    others = tuple(Replace(task, at_s=task.at_s + lease_s) for task in plan.tasks[1:])
    pause = PlannedCallFault(ONLY_SLOT, chance.choice(CLAIMING_CALLS), "pause", "after", round(0.9 * lease_s, 3))
    return Replace(plan, tasks=(first, *others), sizes=Replace(plan.sizes, workers=1, slots=1), call_faults=(pause,))


def _taken_over(chance: Random, plan: WorldPlan, lease_s: float) -> WorldPlan:
    """A task that is cancelled when its lease has run out, and its only worker, which stands still, may yet go on with it."""
    name = plan.tasks[0].task
    task = PlannedTask(0.0, name, {"task": name, "work_s": 0.05}, cancel_s=round(chance.uniform(1.6, 2.4) * lease_s, 3))
    pause = PlannedStrike(
        PauseProcess.name,
        {},
        when="AttemptBegun",
        trigger={"nth": 1},
        lasts_s=round(chance.uniform(2.6, 3.5) * lease_s, 3),
    )
    sizes = Replace(plan.sizes, workers=1, slots=1)
    return Replace(plan, tasks=(task,), sizes=sizes, strikes=(pause,), call_faults=())


def _long(chance: Random, task: PlannedTask, lease_s: float) -> PlannedTask:
    """The task with long work that succeeds; its deadline, if it gets one, comes while it works."""
    work_s = round(LEASES_OF_LONG_WORK * lease_s, 3)
    deadline_s = round(work_s * chance.uniform(0.3, 0.9), 3) if chance.random() < 0.3 else None
    at_s = chance.choice((task.at_s, AFTER_THE_STORM_S, AFTER_THE_STORM_S))
    return Replace(task, at_s=at_s, payload={"task": task.task, "work_s": work_s}, deadline_s=deadline_s)


def is_quick(delays: DelayPlan) -> bool:
    """Whether no lease runs out for the slowness of the network alone."""
    return delays.kind == "steady" or (delays.kind == "erratic" and delays.slow_share * delays.slow_s <= SLOW_MAX_S)

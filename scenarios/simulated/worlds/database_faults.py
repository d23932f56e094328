"""What databases do seldom: one dies with the answer to a call, or undoes several transactions of one client in a row.

Drawn from a chance of their own, and added to a world, of which every other part stays the same.
"""

import math
from random import Random

import msgspec

from scenarios.simulated.system import Sizes, Terms
from scenarios.simulated.worlds.plan import SURE_TRIES, PlannedCallFault, PlannedTask, WorldPlan

Replace = msgspec.structs.replace

DEATH_SHARE = 0.12
RUN_SHARE = 0.05
RUN_CALLS = 7
"""Every second call of these is undone: between them the client rolls back. Four are one transaction with all its tries."""
CALLS_MAX = {"worker": 30, "relay": 40, "rescuer": 40, "api": 10}


def with_database_faults(plan: WorldPlan, terms: Terms) -> WorldPlan:
    """The plan, in some worlds with such a fault at a call."""
    chance = Random(f"{plan.seed}/{plan.scenario}/database")
    if chance.random() < DEATH_SHARE:
        plan = _with_death(chance, plan)
    if chance.random() < RUN_SHARE:
        fiber, call = _call(chance, plan.tasks, plan.sizes)
        code = chance.choice((1205, 1213))
        run = [PlannedCallFault(fiber, call + number, "undo", code=code) for number in range(RUN_CALLS)]
        plan = _with_faults(plan, run)
    return plan


def _with_death(chance: Random, plan: WorldPlan) -> WorldPlan:
    """The database dies at a call; half of the times of a submission whose client does not repeat it, so that its answer counts."""
    fiber, call = _call(chance, plan.tasks, plan.sizes)
    once = [number for number, task in enumerate(plan.tasks) if task.tries < SURE_TRIES]
    if once and chance.random() < 0.5:
        number = chance.choice(once)
        task = Replace(plan.tasks[number], tries=1)
        plan = Replace(plan, tasks=(*plan.tasks[:number], task, *plan.tasks[number + 1 :]))
        fiber, call = f"api-{number % plan.sizes.apis + 1}/client-{task.task}:1", chance.choice((8, 9, 9, 10, 10, 10))
    lasts_s = round(math.exp(chance.uniform(math.log(0.01), math.log(1.5))), 4)
    side = chance.choice(("before", "after", "after"))
    return _with_faults(plan, [PlannedCallFault(fiber, call, "kill_database", side, lasts_s)])


def _call(chance: Random, tasks: tuple[PlannedTask, ...], sizes: Sizes) -> tuple[str, int]:
    role = chance.choice(("api", "worker", "relay", "rescuer"))
    count = {"api": sizes.apis, "worker": sizes.workers, "relay": sizes.relays, "rescuer": sizes.rescuers}[role]
    process = f"{role}-{chance.randint(1, count)}"
    loop = {
        "api": f"client-{chance.choice(tasks).task}:1",
        "worker": f"slot {chance.randint(1, sizes.slots)}",
        "relay": "relay",
        "rescuer": "rescuer",
    }[role]
    return f"{process}/{loop}", chance.randint(1, CALLS_MAX[role])


def _with_faults(plan: WorldPlan, faults: list[PlannedCallFault]) -> WorldPlan:
    """One fault a call; those that are planned already stay."""
    taken = {(fault.fiber, fault.call) for fault in plan.call_faults}
    free = [fault for fault in faults if (fault.fiber, fault.call) not in taken]
    return Replace(plan, call_faults=(*plan.call_faults, *free))

"""Keys that are used twice: by two tasks of one user, of which one is refused; and by two users, of whom neither is.

Drawn from a chance of their own, and added to a world, of which every other part stays the same.
"""

from random import Random

import msgspec

from scenarios.simulated.system import Terms
from scenarios.simulated.worlds.plan import SURE_TRIES, PlannedTask, WorldPlan

SHARE = 0.12
AFTER_MAX_S = 0.6


def with_shared_keys(plan: WorldPlan, terms: Terms) -> WorldPlan:
    """The plan, in some worlds with another task under the key of one of its tasks."""
    chance = Random(f"{plan.seed}/{plan.scenario}/keys")
    if "key" not in terms.capabilities or chance.random() >= SHARE:
        return plan
    task = chance.choice(plan.tasks)
    user = chance.choice((task.user, f"{task.user}-too"))
    other = PlannedTask(
        at_s=round(task.at_s + chance.choice((0.0, chance.uniform(0.0, AFTER_MAX_S))), 4),
        task=f"{task.task}-same-key",
        payload={"task": f"{task.task}-same-key", "work_s": chance.choice((0.0, 0.05))},
        user=user,
        tries=SURE_TRIES,  # the client that got the key learns it, also after an answer that was lost
        key=task.key or task.task,
    )
    return msgspec.structs.replace(plan, tasks=(*plan.tasks, other))

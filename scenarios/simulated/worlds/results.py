"""Results: in some worlds of the swarm every task hands back a text, which its reader has to get.

Drawn from a chance of their own, so that every other part of a world stays the same.
"""

from random import Random

import msgspec

from scenarios.simulated.system import Terms
from scenarios.simulated.worlds.plan import WorldPlan

SHARE = 0.25
SIZES = (1, 20, 300)


def with_results(plan: WorldPlan, terms: Terms) -> WorldPlan:
    """The plan, in some worlds with results."""
    chance = Random(f"{plan.seed}/{plan.scenario}/results")
    if "result" not in terms.capabilities or chance.random() >= SHARE:
        return plan
    sizes = [chance.choice(SIZES) for _ in plan.tasks]
    tasks = [
        msgspec.structs.replace(task, payload={**task.payload, "result_size": size})
        for task, size in zip(plan.tasks, sizes, strict=True)
    ]
    return msgspec.structs.replace(plan, tasks=tuple(tasks))

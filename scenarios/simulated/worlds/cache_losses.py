"""What a cache loses seldom: all its keys, by a flush or a start without its files, or some of them, by eviction.

Drawn from a chance of their own, and added to a world, of which every other part stays the same.
"""

from random import Random

import msgspec

from chaos.faults import EvictKeys, FlushKeys, RestartEmpty
from scenarios.simulated.system import Terms
from scenarios.simulated.worlds.plan import PlannedStrike, WorldPlan

SHARE = 0.1
STORM_S = 1.2
"""They strike within this time."""
LASTS_S = (0.01, 1.0)
"""How long a cache that starts without its files is away: minimum, maximum."""


def with_cache_losses(plan: WorldPlan, terms: Terms) -> WorldPlan:
    """The plan, in some worlds with such a fault."""
    chance = Random(f"{plan.seed}/{plan.scenario}/cache")
    if chance.random() >= SHARE:
        return plan
    fault = chance.choice((FlushKeys, EvictKeys, RestartEmpty))
    lasts_s = round(chance.uniform(*LASTS_S), 4)
    struck = PlannedStrike(
        fault.name, {"service": "redis"}, at_s=round(chance.uniform(0.0, STORM_S), 4), lasts_s=lasts_s
    )
    return msgspec.structs.replace(plan, strikes=(*plan.strikes, struck))

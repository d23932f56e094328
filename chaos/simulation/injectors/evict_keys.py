"""The simulated Redis evicts some of its keys; which ones, chance decides, whatever the policy."""

from random import Random

from chaos.faults import EvictKeys
from chaos.simulation.injectors.flush_keys import SimulatedKeysLoss
from chaos.simulation.world import World


def inject(fault: EvictKeys, world: World, chance: Random) -> SimulatedKeysLoss:
    """The injection of one such fault."""
    return SimulatedKeysLoss(fault, world, chance)

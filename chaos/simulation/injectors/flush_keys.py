"""FLUSHALL of the simulated Redis."""

from random import Random

from chaos.faults import EvictKeys, FlushKeys
from chaos.simulation.injectors.steps import SimulatedInjection
from chaos.simulation.world import World


class SimulatedKeysLoss(SimulatedInjection):
    """Keys are gone at once, and stay lost: all, or those that `chance` picks, at least one."""

    def __init__(self, fault: FlushKeys | EvictKeys, world: World, chance: Random | None) -> None:
        super().__init__(fault, "redis", world)
        self._chance = chance
        self._lost = 0

    def _obstacle(self) -> str:
        if not self._world.cache.up:
            return "it is down"
        return "" if self._begun or self._world.cache.keys() else "it holds no key"

    def _strike(self) -> None:
        cache = self._world.cache
        keys = cache.keys()
        if self._chance is not None:
            keys = self._chance.sample(keys, self._chance.randint(1, len(keys)))
        cache.forget(keys)
        self._lost = len(keys)

    def _words(self) -> str:
        return f"{self._lost} keys are gone"

    def _lift(self) -> None:
        """Nothing is given back."""


def inject(fault: FlushKeys, world: World, chance: Random) -> SimulatedKeysLoss:
    """The injection of one such fault."""
    return SimulatedKeysLoss(fault, world, None)

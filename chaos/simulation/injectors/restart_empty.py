"""kill -9 of the simulated Redis, and its start without a key."""

from random import Random

from chaos.faults import RestartEmpty
from chaos.simulation.injectors.steps import SimulatedInjection
from chaos.simulation.world import World


class SimulatedEmptyRestart(SimulatedInjection):
    """Connections are refused until it is lifted; then it is empty."""

    def _obstacle(self) -> str:
        return "" if self._world.cache.up else "it is down already"

    def _strike(self) -> None:
        self._world.cache.kill()

    def _words(self) -> str:
        return "connections to it are refused, and its keys are gone"

    def _lift(self) -> None:
        cache = self._world.cache
        cache.forget(cache.keys())
        cache.start()


def inject(fault: RestartEmpty, world: World, chance: Random) -> SimulatedEmptyRestart:
    """The injection of one such fault."""
    return SimulatedEmptyRestart(fault, "redis", world)

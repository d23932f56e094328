"""A simulated service that stands still: nothing passes on any line to it, and its connections stay open."""

from random import Random

from chaos.errors import ChaosError
from chaos.faults import PauseService
from chaos.simulation.injectors.steps import SimulatedInjection
from chaos.simulation.network.degradations import Degradation
from chaos.simulation.world import World

STILL = Degradation(blocks=True)


class SimulatedServicePause(SimulatedInjection):
    """As a black hole on every line; held-up messages arrive when it goes on."""

    def __init__(self, fault: PauseService, world: World) -> None:
        super().__init__(fault, fault.service, world)
        self._lines = [
            process.lines[fault.service] for process in world.processes.values() if fault.service in process.lines
        ]
        self._service = world.services[fault.service]

    def _obstacle(self) -> str:
        return "" if self._service.up else "it is down"

    def _strike(self) -> None:
        for line in self._lines:
            line.degrade(STILL)

    def _words(self) -> str:
        return "nothing passes to it or from it"

    def _lift(self) -> None:
        for line in self._lines:
            line.restore(STILL)


def inject(fault: PauseService, world: World, chance: Random) -> SimulatedServicePause:
    """The injection of one such fault."""
    if fault.service not in world.services:
        raise ChaosError(f"no service {fault.service!r} here; there are {', '.join(sorted(world.services))}")
    if fault.service == "redis":
        raise ChaosError(PauseService.FAILED_OVER)
    return SimulatedServicePause(fault, world)

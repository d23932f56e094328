"""kill -9 of a simulated process; heals by starting its next incarnation."""

from random import Random

from chaos.faults import KillProcess, LoseProcess, StopProcess
from chaos.simulation.injectors.steps import SimulatedInjection, process_of
from chaos.simulation.world import SimulatedProcess, World


class SimulatedProcessKill(SimulatedInjection):
    """Its fibers end, and its connections are closed."""

    def __init__(self, fault: KillProcess | LoseProcess | StopProcess, process: SimulatedProcess, world: World) -> None:
        super().__init__(fault, process.name, world)
        self._process = process

    def _obstacle(self) -> str:
        return "" if self._process.is_alive() else "it is dead already"

    def _strike(self) -> None:
        self._world.kill(self._process)

    def _words(self) -> str:
        return "its fibers are dead"

    def _lift(self) -> None:
        if not self._process.is_alive():
            self._world.start(self._process)

    def _still_struck(self) -> str:
        return "" if self._process.is_alive() else "it ended again"


def inject(fault: KillProcess, world: World, chance: Random) -> SimulatedProcessKill:
    """The injection of one such fault."""
    return SimulatedProcessKill(fault, process_of(world, fault.process), world)

"""SIGSTOP of a simulated process: its fibers stop while time goes on; heals by SIGCONT."""

from random import Random

from chaos.faults import PauseProcess
from chaos.simulation.injectors.steps import SimulatedInjection, process_of
from chaos.simulation.kernel.scheduler import Life
from chaos.simulation.world import SimulatedProcess, World


class SimulatedProcessPause(SimulatedInjection):
    """All fibers of one incarnation are stopped."""

    def __init__(self, fault: PauseProcess, process: SimulatedProcess, world: World) -> None:
        super().__init__(fault, process.name, world)
        self._process = process
        self._life: Life | None = None

    def _obstacle(self) -> str:
        if not self._process.is_alive():
            return "it is dead"
        return "it is paused already" if self._process.is_paused() else ""

    def _strike(self) -> None:
        self._life = self._process.life
        assert self._life is not None, "it is alive"
        self._world.scheduler.pause(self._life)

    def _words(self) -> str:
        return "its fibers are stopped"

    def _lift(self) -> None:
        if self._life is not None and self._life.paused:
            self._world.scheduler.resume(self._life)

    def _still_struck(self) -> str:
        # Another fault may have killed it meanwhile: then it is no longer paused, and that fault's healing matters.
        return "its fibers are stopped" if self._life is not None and self._life.paused else ""


def inject(fault: PauseProcess, world: World, chance: Random) -> SimulatedProcessPause:
    """The injection of one such fault."""
    return SimulatedProcessPause(fault, process_of(world, fault.process), world)

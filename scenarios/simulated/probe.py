"""The lab's probe in a simulated process: the same code as in a real one, on a virtual clock and a simulated line."""

from typing import Any

from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Died
from chaos.simulation.world import SimulatedProcess, World
from scenarios.contract.tasklab_probe import Probe
from scenarios.experiment.outside import Outside
from scenarios.simulated.outside import OutsideConnection
from scenarios.simulated.record import EventList

KILLED_BY_TASK = "its task killed it"
"""Why a process is gone whose task was to end it."""


class SimulatedProbe(Probe):
    """One for each process; the dead record nothing."""

    def __init__(self, world: World, process: SimulatedProcess, outside: Outside, events: EventList) -> None:
        # Not the parent's: there is no file, no socket and no environment here.
        self._world = world
        self._process = process
        self._events = events
        self._connection = OutsideConnection(outside, process.lines["outside"], process.name)

    @property
    def outside(self) -> Any:
        """The way to the outside resource."""
        return self._connection

    def record(self, event: str, **fields: Any) -> None:
        """Append one event to the history, as this process saw it."""
        self._world.scheduler.check_alive()
        self._events.record(event, actor=self._process.name, **fields)

    def _rest(self, seconds: float) -> None:
        self._world.scheduler.rest(ns(seconds))

    def _die(self) -> None:
        self._world.kill(self._process)
        self._world.when_gone(self._process, KILLED_BY_TASK)
        raise Died

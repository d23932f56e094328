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
"""The reason of a process that was ended by its own task."""


class SimulatedProbe(Probe):
    """The probe of one process; a dead process records nothing."""

    def __init__(self, world: World, process: SimulatedProcess, outside: Outside, events: EventList) -> None:
        # Not the parent's constructor: there is no file, socket or environment here.
        self._world = world
        self._process = process
        self._events = events
        self._connection = OutsideConnection(outside, process.lines["outside"], process.name)

    @property
    def outside(self) -> Any:
        """The connection to the outside resource."""
        return self._connection

    def record(self, event: str, **fields: Any) -> None:
        """Append one event of this process to the history."""
        self._world.scheduler.check_alive()
        self._events.record(event, actor=self._process.name, **fields)

    def _rest(self, seconds: float) -> None:
        self._world.scheduler.rest(ns(seconds))

    def _die(self, task: str) -> None:
        self._world.kill(self._process)
        self._world.when_gone(self._process, KILLED_BY_TASK)
        raise Died

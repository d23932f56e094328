"""The history of a simulated world: events in memory, on its clock."""

from typing import Any

from chaos.simulation.kernel.scheduler import Scheduler
from scenarios.record.history import Event


class EventList:
    """All events of the world; a `scenarios.experiment.stage.Records`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.events: list[Event] = []

    def record(self, event: str, *, actor: str, **fields: Any) -> None:
        """Append one event with the current time."""
        self.events.append(Event(event=event, actor=actor, t_ns=self._scheduler.now_ns, **fields))

    def append(self, event: Event) -> None:
        """Append an event that carries its own time."""
        self.events.append(event)

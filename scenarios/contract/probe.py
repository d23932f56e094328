"""The interface of the probe for plug-ins: tasklab_probe.Probe, or its counterpart in a simulated process."""

from collections.abc import Callable
from typing import Any, Protocol


class Probe(Protocol):
    """The lab's own part inside a process under test."""

    @property
    def record(self) -> Callable[..., None]:
        """Append one event, by its name and fields, to the history of this process."""

    @property
    def run_task(self) -> Callable[..., dict[str, Any]]:
        """The lab's handler; see tasklab_probe.Probe.run_task."""

    @property
    def outside(self) -> Any:
        """The outside resource: `arrive`, `effect`, `write`."""

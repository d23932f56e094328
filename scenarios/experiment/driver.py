"""Who submits in a run: the clients of `scenarios.experiment.clients`, or a program that does nothing else."""

from collections.abc import Sequence
from typing import Protocol


class Driver(Protocol):
    """Submits what is planned, records it, and notes every outcome in the run's `Submissions`."""

    def start(self) -> None:
        """Begin; returns when submissions are under way.

        Raises:
            ChaosError, RunFailed: it could not begin.
        """

    def await_end(self) -> None:
        """Block until every planned submission was answered, or no more will come.

        Raises:
            ChaosError: it broke.
        """

    def stop(self) -> None:
        """Submit no more, and let go of everything. Idempotent; safe to call when it never started."""

    def problems(self) -> Sequence[str]:
        """What it did not do as planned, for reasons of the lab's own: each makes the run unknown."""

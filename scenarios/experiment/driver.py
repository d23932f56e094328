"""The driver of a run submits its tasks: the clients of `scenarios.experiment.clients`, or a load generator."""

from collections.abc import Sequence
from typing import Protocol


class Driver(Protocol):
    """Submits the planned tasks, records each submission, and reports its outcome to the run's `Submissions`."""

    def start(self) -> None:
        """Start; returns when submissions have begun.

        Raises:
            ChaosError, RunFailed: it could not start.
        """

    def await_end(self) -> None:
        """Block until every planned submission was answered, or no more answers will come.

        Raises:
            ChaosError: it failed.
        """

    def stop(self) -> None:
        """Stop submitting, and release everything. Idempotent; may be called before `start`."""

    def problems(self) -> Sequence[str]:
        """Failures of the lab in submitting as planned; each makes the run unknown."""

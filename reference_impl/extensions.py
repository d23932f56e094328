"""Extension points: the code that a user of the system supplies. Settings name it as package.module:attribute."""

from collections.abc import Mapping
from typing import Protocol

from reference_impl.attempt import Attempt
from reference_impl.task import Claim


class Handler(Protocol):
    """The work of a task type. Called once per attempt, outside any transaction."""

    def __call__(self, attempt: Attempt) -> Mapping[str, object] | None:
        """Do the work. The returned mapping (small) is stored as the task's result.

        Raises:
            PermanentFailure: no retry can succeed.
            Exception: anything else is classified by `retry.classify`.
        """


class LeaderJob(Protocol):
    """Periodic work of which only one instance should run at a time. The fence protects the resource that the job writes to."""

    def __call__(self, fence: int) -> None:
        """Run the job once."""


class Observer:
    """Called when this process acquires, extends or releases a lease or a lock. Does nothing; a subclass overrides methods.

    Methods must return quickly and must not raise.
    """

    def claimed(self, claim: Claim, ttl_s: float) -> None:
        """An attempt holds its task's lease for another `ttl_s`."""

    def claim_renewed(self, claim: Claim, ttl_s: float) -> None:
        """The heartbeat extended the lease to `ttl_s` from now."""

    def claim_released(self, claim: Claim) -> None:
        """The attempt is about to release its lease."""

    def acknowledging(self, claim: Claim) -> None:
        """The message of this attempt is about to be acknowledged."""

    def lock_acquired(self, name: str, fence: int, ttl_s: float) -> None:
        """This process holds the lock for another `ttl_s`."""

    def lock_renewed(self, name: str, fence: int, ttl_s: float) -> None:
        """The lock was extended to `ttl_s` from now."""

    def lock_released(self, name: str, fence: int) -> None:
        """The lock is about to be released."""

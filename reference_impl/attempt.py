"""What a handler is given: its task, its number, what to show to the outside, and how to tell of its progress."""

from dataclasses import dataclass

from reference_impl.fast.progress import report_progress
from reference_impl.ports import Cache, Entropy
from reference_impl.task import Claim, Task


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at one task, as its handler sees it."""

    claim: Claim
    cache: Cache
    entropy: Entropy
    progress_expiry_s: float

    @property
    def task(self) -> Task:
        """The task as it was claimed."""
        return self.claim.task

    @property
    def number(self) -> int:
        """Of this attempt, counted from 1 over the task's whole life."""
        return self.claim.attempt

    @property
    def fence(self) -> int:
        """Greater in every later attempt: hand it to any resource that can refuse an older one."""
        return self.claim.fence

    @property
    def idempotency_key(self) -> str:
        """The same in every attempt: hand it, with the step, to whatever is called outside, so that repeats are recognised (R17)."""
        return self.claim.task.id

    @property
    def should_stop(self) -> bool:
        """Whether the user has withdrawn the task, or another attempt has taken over: look at it between steps (R16).

        Raise any failure then: a withdrawn task ends as cancelled, and one that was taken over is no longer this attempt's. A handler
        that returns has done its work, withdrawn or not.
        """
        return self.claim.cancel_requested or self.claim.lost

    def report(self, step: str, percent: int) -> None:
        """Tell clients how far the attempt is. Never fails: progress is no fact."""
        report_progress(
            self.cache,
            self.entropy,
            self.task.id,
            attempt=self.number,
            step=step,
            percent=percent,
            expiry_s=self.progress_expiry_s,
        )

"""An attempt as its handler sees it: the task, the attempt number, idempotency key and fence, progress reports."""

from dataclasses import dataclass

from reference_impl.fast.progress import report_progress
from reference_impl.ports import Cache, Entropy
from reference_impl.task import Claim, Task


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at one task; the argument of every handler."""

    claim: Claim
    cache: Cache
    entropy: Entropy
    progress_expiry_s: float

    @property
    def task(self) -> Task:
        """The task, as of the claim."""
        return self.claim.task

    @property
    def number(self) -> int:
        """Attempt number, counted from 1 over the task's whole life."""
        return self.claim.attempt

    @property
    def fence(self) -> int:
        """Fencing token, greater in every later attempt. Pass it to any resource that can refuse an older one."""
        return self.claim.fence

    @property
    def idempotency_key(self) -> str:
        """Equal in all attempts of the task. Pass it, together with the step, to external services to deduplicate retries (R17)."""
        return self.claim.task.id

    @property
    def should_stop(self) -> bool:
        """Whether the user has cancelled the task, or another attempt has taken over. Check it between steps (R16).

        If it is True, raise any exception: a cancelled task then ends as CANCELLED, and a task that another attempt has taken over is
        not changed. If the handler returns instead, the task counts as done, even if it was cancelled.
        """
        return self.claim.cancel_requested or self.claim.lost

    def report(self, step: str, percent: int) -> None:
        """Report progress to clients. Never raises: if the cache is down, the report is lost."""
        report_progress(
            self.cache,
            self.entropy,
            self.task.id,
            attempt=self.number,
            step=step,
            percent=percent,
            expiry_s=self.progress_expiry_s,
        )

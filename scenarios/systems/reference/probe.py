"""The lab's eyes and hands in the reference's processes: the handler, the leader's job, and who watches leases."""

import threading
from collections.abc import Callable, Mapping

from reference_impl.attempt import Attempt
from reference_impl.errors import PermanentFailure, TransientFailure
from reference_impl.ports import LeaderJob
from reference_impl.task import Claim
from scenarios.contract.probe import Probe

SWEEP = "lock:sweep"
SWEPT = "swept"


FindProbe = Callable[[], Probe]
"""The probe of the process that asks."""


def handler(find_probe: FindProbe, task_error: type[Exception]) -> Callable[[Attempt], Mapping[str, object]]:
    """Runs the lab's handler with the key and the fence that the system hands to its handlers."""

    def handle(attempt: Attempt) -> Mapping[str, object]:
        try:
            return find_probe().run_task(
                attempt.task.payload,
                attempt=attempt.number,
                key=attempt.idempotency_key,
                fence=attempt.fence,
                report=attempt.report,
            )
        except task_error as error:
            if error.kind == "permanent":  # type: ignore[attr-defined]
                raise PermanentFailure(str(error)) from error
            raise TransientFailure(str(error)) from error

    return handle


def leader_job(find_probe: FindProbe) -> LeaderJob:
    """What only the leader should do, at a resource of the lab's that checks the fence."""

    def lead(fence: int) -> None:
        outside = find_probe().outside
        outside.arrive("leader", SWEEP)
        outside.write(SWEPT, fence=fence)

    return lead


class Watcher:
    """Tells the history of leases and locks as their holders see them.

    Heartbeat and slot are two threads: a renewal that was under way when the attempt gave its lease up is not told any more.
    """

    def __init__(self, find_probe: FindProbe) -> None:
        self._find_probe = find_probe
        self._lock = threading.Lock()
        self._live: set[tuple[str, int]] = set()

    def claimed(self, claim: Claim, ttl_s: float) -> None:
        """See reference_impl.ports.Observer."""
        self._begin("lease.acquired", _task_of(claim), claim.fence, ttl_s)

    def claim_renewed(self, claim: Claim, ttl_s: float) -> None:
        """See reference_impl.ports.Observer."""
        self._go_on(_task_of(claim), claim.fence, ttl_s)

    def claim_released(self, claim: Claim) -> None:
        """See reference_impl.ports.Observer."""
        self._end(_task_of(claim), claim.fence)

    def acknowledging(self, claim: Claim) -> None:
        """See reference_impl.ports.Observer."""
        self._find_probe().record("ack.invoke", task=_task_of(claim), attempt=claim.attempt)

    def lock_acquired(self, name: str, fence: int, ttl_s: float) -> None:
        """See reference_impl.ports.Observer."""
        self._begin("lease.acquired", f"lock:{name}", fence, ttl_s)

    def lock_renewed(self, name: str, fence: int, ttl_s: float) -> None:
        """See reference_impl.ports.Observer."""
        self._go_on(f"lock:{name}", fence, ttl_s)

    def lock_released(self, name: str, fence: int) -> None:
        """See reference_impl.ports.Observer."""
        self._end(f"lock:{name}", fence)

    def _begin(self, event: str, resource: str, fence: int, ttl_s: float) -> None:
        with self._lock:
            self._live.add((resource, fence))
            self._record(event, resource, fence, ttl_s)

    def _go_on(self, resource: str, fence: int, ttl_s: float) -> None:
        with self._lock:
            if (resource, fence) in self._live:
                self._record("lease.renewed", resource, fence, ttl_s)

    def _end(self, resource: str, fence: int) -> None:
        with self._lock:
            self._live.discard((resource, fence))
            self._record("lease.released", resource, fence, None)

    def _record(self, event: str, resource: str, fence: int, ttl_s: float | None) -> None:
        self._find_probe().record(event, resource=resource, fence=fence, ttl_s=ttl_s)


def _task_of(claim: Claim) -> str:
    """The lab's name of the task, which is also that of its lease."""
    return str(claim.task.payload["task"])

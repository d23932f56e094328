"""The probe inside the reference's processes: the lab's handler and leader job, and an observer that records leases."""

import threading
from collections.abc import Callable, Mapping

from reference_impl.attempt import Attempt
from reference_impl.errors import PermanentFailure, TransientFailure
from reference_impl.extensions import LeaderJob, Observer
from reference_impl.task import Claim
from scenarios.contract.probe import Probe

SWEEP = "lock:sweep"
SWEPT = "swept"


FindProbe = Callable[[], Probe]
"""Returns the probe of the calling process."""


def handler(find_probe: FindProbe, task_error: type[Exception]) -> Callable[[Attempt], Mapping[str, object] | None]:
    """The handler that runs the lab's task with the key and the fence that the system passes to handlers.

    It returns None where nothing is to be handed back, as handlers do that have no result.
    """

    def handle(attempt: Attempt) -> Mapping[str, object] | None:
        try:
            returned = find_probe().run_task(
                attempt.task.payload,
                attempt=attempt.number,
                key=attempt.idempotency_key,
                fence=attempt.fence,
                report=attempt.report,
                should_stop=lambda: attempt.should_stop,
            )
            return returned or None
        except task_error as error:
            if error.kind == "permanent":  # type: ignore[attr-defined]
                raise PermanentFailure(str(error)) from error
            raise TransientFailure(str(error)) from error

    return handle


def leader_job(find_probe: FindProbe) -> LeaderJob:
    """The job of the leader: a write to the lab's outside resource, which checks the fence."""

    def lead(fence: int) -> None:
        outside = find_probe().outside
        outside.arrive("leader", SWEEP)
        outside.write(SWEPT, fence=fence)

    return lead


class LeaseRecorder(Observer):
    """Records leases and locks from the view of their holders.

    Heartbeat and slot are two threads: a renewal that ends after the attempt has released its lease is not recorded.
    """

    def __init__(self, find_probe: FindProbe) -> None:
        self._find_probe = find_probe
        self._lock = threading.Lock()
        self._live: set[tuple[str, int]] = set()

    def claimed(self, claim: Claim, ttl_s: float) -> None:
        """Record the lease of the task as acquired."""
        self._begin("lease.acquired", _task_of(claim), claim.fence, ttl_s)

    def claim_renewed(self, claim: Claim, ttl_s: float) -> None:
        """Record the lease as renewed."""
        self._renew(_task_of(claim), claim.fence, ttl_s)

    def claim_released(self, claim: Claim) -> None:
        """Record the lease as released."""
        self._end(_task_of(claim), claim.fence)

    def acknowledging(self, claim: Claim) -> None:
        """Record that the acknowledgement begins."""
        self._find_probe().record("ack.invoke", task=_task_of(claim), attempt=claim.attempt)

    def lock_acquired(self, name: str, fence: int, ttl_s: float) -> None:
        """Record the lock as acquired."""
        self._begin("lease.acquired", f"lock:{name}", fence, ttl_s)

    def lock_renewed(self, name: str, fence: int, ttl_s: float) -> None:
        """Record the lock as renewed."""
        self._renew(f"lock:{name}", fence, ttl_s)

    def lock_released(self, name: str, fence: int) -> None:
        """Record the lock as released."""
        self._end(f"lock:{name}", fence)

    def _begin(self, event: str, resource: str, fence: int, ttl_s: float) -> None:
        with self._lock:
            self._live.add((resource, fence))
            self._record(event, resource, fence, ttl_s)

    def _renew(self, resource: str, fence: int, ttl_s: float) -> None:
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
    """The lab's name of the task, which is also the name of its lease."""
    return str(claim.task.payload["task"])

"""What runs inside the reference's processes when the lab tests it: the handler, the leader's job, and who watches leases.

Imports the probe by the name under which the lab puts it alone on the path, as it does for any other system.
"""

import threading
from collections.abc import Mapping

import tasklab_probe  # type: ignore[import-not-found]

from reference_impl.attempt import Attempt
from reference_impl.errors import PermanentFailure, TransientFailure
from reference_impl.task import Claim

SWEEP = "lock:sweep"
SWEPT = "swept"


def handle(attempt: Attempt) -> Mapping[str, object]:
    """Run the lab's handler with the key and the fence that the system hands to its handlers."""
    try:
        result: Mapping[str, object] = tasklab_probe.run_task(
            attempt.task.payload,
            attempt=attempt.number,
            key=attempt.idempotency_key,
            fence=attempt.fence,
            report=attempt.report,
        )
    except tasklab_probe.TaskError as error:
        if error.kind == "permanent":
            raise PermanentFailure(str(error)) from error
        raise TransientFailure(str(error)) from error
    return result


def lead(fence: int) -> None:
    """What only the leader should do, at a resource of the lab's that checks the fence."""
    probe = tasklab_probe.probe()
    probe.outside.arrive("leader", SWEEP)
    probe.outside.write(SWEPT, fence=fence)


class Watcher:
    """Tells the history of leases and locks as their holders see them.

    Heartbeat and slot are two threads: a renewal that was under way when the attempt gave its lease up is not told any more.
    """

    def __init__(self) -> None:
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
        tasklab_probe.probe().record("ack.invoke", task=_task_of(claim), attempt=claim.attempt)

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
            _record(event, resource, fence, ttl_s)

    def _go_on(self, resource: str, fence: int, ttl_s: float) -> None:
        with self._lock:
            if (resource, fence) in self._live:
                _record("lease.renewed", resource, fence, ttl_s)

    def _end(self, resource: str, fence: int) -> None:
        with self._lock:
            self._live.discard((resource, fence))
            _record("lease.released", resource, fence, None)


def _record(event: str, resource: str, fence: int, ttl_s: float | None) -> None:
    tasklab_probe.probe().record(event, resource=resource, fence=fence, ttl_s=ttl_s)


def _task_of(claim: Claim) -> str:
    """The lab's name of the task, which is also that of its lease."""
    return str(claim.task.payload["task"])


watcher = Watcher()
leader_jobs = (lead,)

"""Defect: an attempt settles its task although another has taken over. A zombie overwrites its successor's work."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, Connection, bindparam

from reference_impl.loops.worker import Worker
from reference_impl.retry import Failure
from reference_impl.rows import dead_letter, outbox
from reference_impl.rows.database_clock import microseconds, now_us
from reference_impl.rows.document import document
from reference_impl.rows.settlement import Settled, failure_record
from reference_impl.rows.transitions import LEASE_RELEASED, Transition, apply, transition
from reference_impl.task import HELD, Claim, TaskState
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Mutant, with_classes

_RECORD: Mapping[str, Any] = {"failure_class": bindparam("new_class"), "failure_message": bindparam("new_message")}
_DUE_US = now_us() + bindparam("delay_us", type_=BigInteger)


def _unfenced(to: TaskState, **values: Any) -> tuple[Transition, ...]:
    return tuple(transition(state, to, **LEASE_RELEASED, **values) for state in HELD)


_SUCCEED = _unfenced(TaskState.SUCCEEDED, result=bindparam("kept"))
_FAIL = _unfenced(TaskState.FAILED, **_RECORD)
_BURY = _unfenced(TaskState.DEAD, **_RECORD)
_RETRY = _unfenced(TaskState.RETRYING, next_attempt_us=_DUE_US, enqueued_us=_DUE_US, **_RECORD)


class UnfencedWorker(Worker):
    """Settles if the task is held, without checking by which attempt."""

    __slots__ = ()

    def settle_success(self, connection: Connection, claim: Claim, result: Mapping[str, object] | None) -> Settled:
        """Settle without the fence."""
        kept = None if result is None else document(result)
        return Settled.SUCCEEDED if self._apply(connection, _SUCCEED, claim, kept=kept) else Settled.NOT_HELD

    def settle_failure(self, connection: Connection, claim: Claim, failure: Failure, *, delay_s: float) -> Settled:
        """Settle without the fence."""
        task, record = claim.task, failure_record(failure.error_class, failure.message)
        if failure.kind == "permanent":
            return Settled.FAILED if self._apply(connection, _FAIL, claim, **record) else Settled.NOT_HELD
        if task.has_used_up(self.options.retry_policy.attempts_max):
            if self._apply(connection, _BURY, claim, **record):
                dead_letter.write(connection, task, "exhausted", dead_queue=self.topology.dead_queue)
                return Settled.DEAD
        elif self._apply(connection, _RETRY, claim, delay_us=microseconds(delay_s), **record):
            outbox.put(connection, task.id, self.topology.work_queue, trace_id=task.trace_id, delay_s=delay_s)
            return Settled.RETRYING
        return Settled.NOT_HELD

    def _apply(self, connection: Connection, steps: tuple[Transition, ...], claim: Claim, **bound: object) -> bool:
        return any(apply(connection, step, claim.task.id, actor=claim.owner, **bound) for step in steps)


system = Mutant(
    name="completion_without_fence",
    defect="an attempt settles its task even if another attempt has taken over",
    expected=(Guarantee.DUPLICATES_EXPLAINED, Guarantee.DEAD_LETTER_IF_EXHAUSTED),
    patch=with_classes(worker=UnfencedWorker),
)

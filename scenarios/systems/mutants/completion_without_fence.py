"""An attempt ends its task although another has taken over: a zombie has the last word."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import BigInteger, Connection, bindparam

from reference_impl.bootstrap import Parts
from reference_impl.loops.worker import Worker
from reference_impl.retry import Failure
from reference_impl.rows import dead_letter, outbox, store
from reference_impl.rows.database_clock import microseconds, now_us
from reference_impl.rows.settlement import Settled, failure_record
from reference_impl.task import HELD, Claim, TaskState
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant

_RECORD: Mapping[str, Any] = {"failure_class": bindparam("new_class"), "failure_message": bindparam("new_message")}
_DUE_US = now_us() + bindparam("delay_us", type_=BigInteger)


def _unfenced(to: TaskState, **values: Any) -> tuple[store.Move, ...]:
    return tuple(store.moving(state, to, **store.LEASE_GIVEN_UP, **values) for state in HELD)


_SUCCEED = _unfenced(TaskState.SUCCEEDED, result=bindparam("kept"))
_FAIL = _unfenced(TaskState.FAILED, **_RECORD)
_BURY = _unfenced(TaskState.DEAD, **_RECORD)
_RETRY = _unfenced(TaskState.RETRYING, next_attempt_us=_DUE_US, enqueued_us=_DUE_US, **_RECORD)


class WorkerWithoutFence(Worker):
    """Looks whether its task is still running, but not whether it is still the one who runs it."""

    __slots__ = ()

    def settle_success(self, connection: Connection, claim: Claim, result: Mapping[str, object] | None) -> Settled:
        """See reference_impl.loops.worker.Worker."""
        kept = None if result is None else store.document(result)
        return Settled.SUCCEEDED if self._move(connection, _SUCCEED, claim, kept=kept) else Settled.NOT_OURS

    def settle_failure(self, connection: Connection, claim: Claim, failure: Failure, *, delay_s: float) -> Settled:
        """See reference_impl.loops.worker.Worker."""
        task, record = claim.task, failure_record(failure.error_class, failure.message)
        if failure.kind == "permanent":
            return Settled.FAILED if self._move(connection, _FAIL, claim, **record) else Settled.NOT_OURS
        if task.attempts_spent >= self.options.retry_policy.attempts_max:
            if self._move(connection, _BURY, claim, **record):
                dead_letter.write(connection, task, "exhausted", dead_queue=self.topology.dead_queue)
                return Settled.DEAD
        elif self._move(connection, _RETRY, claim, delay_us=microseconds(delay_s), **record):
            outbox.put(connection, task.id, self.topology.work_queue, trace_id=task.trace_id, delay_s=delay_s)
            return Settled.RETRYING
        return Settled.NOT_OURS

    def _move(self, connection: Connection, moves: tuple[store.Move, ...], claim: Claim, **bound: object) -> bool:
        return any(store.move(connection, kind, claim.task.id, actor=claim.owner, **bound) for kind in moves)


def alter(parts: Parts) -> Parts:
    """With that worker."""
    return replace(parts, kinds=replace(parts.kinds, worker=WorkerWithoutFence))


system = Mutant(
    name="completion_without_fence",
    defect="whoever ends an attempt ends the task, also when another attempt has taken over",
    expected=(Guarantee.DUPLICATES_EXPLAINED, Guarantee.DEAD_LETTER_IF_EXHAUSTED),
    alter=alter,
)

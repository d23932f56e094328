"""Defect: success is written in any state. A task that has ended, or waits for another attempt, is overwritten."""

from collections.abc import Mapping

from sqlalchemy import Connection, String, bindparam, insert, literal, select, update

from reference_impl.loops.worker import Worker
from reference_impl.rows.database_clock import now_us
from reference_impl.rows.document import document
from reference_impl.rows.schema import audit, tasks
from reference_impl.rows.settlement import Settled
from reference_impl.rows.transitions import LEASE_RELEASED
from reference_impl.task import Claim, TaskState
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Mutant, with_classes

_SUCCEED = (
    update(tasks)
    .where(tasks.c.id == bindparam("own_id"), tasks.c.fence == bindparam("own_fence"))
    .values(status=TaskState.SUCCEEDED, updated_us=now_us(), result=bindparam("kept"), **LEASE_RELEASED)
)
_WRITE_AUDIT = insert(audit).from_select(
    ["task_id", "from_status", "to_status", "fence", "attempt", "actor", "at_us"],
    select(
        tasks.c.id,
        literal(TaskState.RUNNING.value),
        literal(TaskState.SUCCEEDED.value),
        tasks.c.fence,
        tasks.c.attempt,
        bindparam("by", type_=String),
        tasks.c.updated_us,
    ).where(tasks.c.id == bindparam("own_id")),
)


class UnconditionalWorker(Worker):
    """Settles without checking the state of the task."""

    __slots__ = ()

    def settle_success(self, connection: Connection, claim: Claim, result: Mapping[str, object] | None) -> Settled:
        """Write SUCCEEDED, checking only the fence."""
        kept = None if result is None else document(result)
        own = {"own_id": claim.task.id}
        if connection.execute(_SUCCEED, {**own, "own_fence": claim.fence, "kept": kept}).rowcount == 0:
            return Settled.NOT_HELD
        connection.execute(_WRITE_AUDIT, {**own, "by": claim.owner})
        return Settled.SUCCEEDED


system = Mutant(
    name="completion_without_condition",
    defect="success is written in any state of the task",
    expected=(Guarantee.LEGAL_TRANSITIONS,),
    patch=with_classes(worker=UnconditionalWorker),
)

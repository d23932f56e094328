"""An attempt ends its task whatever state the task is in by then: what has ended, or waits for another attempt, is overwritten."""

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection, String, bindparam, insert, literal, select, update

from reference_impl.bootstrap import Parts
from reference_impl.loops.worker import Worker
from reference_impl.rows import store
from reference_impl.rows.database_clock import now_us
from reference_impl.rows.schema import audit, tasks
from reference_impl.rows.settlement import Settled
from reference_impl.task import Claim, TaskState
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant

_SUCCEED = (
    update(tasks)
    .where(tasks.c.id == bindparam("own_id"), tasks.c.fence == bindparam("own_fence"))
    .values(status=TaskState.SUCCEEDED, updated_us=now_us(), result=bindparam("kept"), **store.LEASE_GIVEN_UP)
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


class WorkerWithoutCondition(Worker):
    """Trusts that its task is as it left it."""

    __slots__ = ()

    def settle_success(self, connection: Connection, claim: Claim, result: Mapping[str, object] | None) -> Settled:
        """See reference_impl.loops.worker.Worker."""
        kept = None if result is None else store.document(result)
        own = {"own_id": claim.task.id}
        if connection.execute(_SUCCEED, {**own, "own_fence": claim.fence, "kept": kept}).rowcount == 0:
            return Settled.NOT_OURS
        connection.execute(_WRITE_AUDIT, {**own, "by": claim.owner})
        return Settled.SUCCEEDED


def alter(parts: Parts) -> Parts:
    """With that worker."""
    return replace(parts, kinds=replace(parts.kinds, worker=WorkerWithoutCondition))


system = Mutant(
    name="completion_without_condition",
    defect="a success is written whatever state the task is in by then",
    expected=(Guarantee.LEGAL_TRANSITIONS,),
    alter=alter,
)

"""A claim that does not run out: when its worker dies nobody may touch the task any more."""

from dataclasses import replace

from sqlalchemy import Connection, bindparam, update

from reference_impl.bootstrap import Parts
from reference_impl.loops.worker import Worker
from reference_impl.rows import store
from reference_impl.rows.schema import tasks
from reference_impl.rows.transactions import transact
from reference_impl.task import Claim, Task
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant

FOR_EVER_S = 1e9
_FORGET_LEASE = update(tasks).where(tasks.c.id == bindparam("claimed_id")).values(lease_expires_us=None)


class WorkerWithoutLease(Worker):
    """Marks a task as running, and that is all; only a heartbeat, much later, gives it a lease."""

    __slots__ = ()

    def take(self, task_id: str) -> Claim | None:
        """See reference_impl.loops.worker.Worker."""
        name = self.runtime.name

        def work(connection: Connection) -> Task | None:
            task = store.claim(connection, task_id, owner=name, lease_s=self.options.lease_s)
            connection.execute(_FORGET_LEASE, {"claimed_id": task_id})
            return task

        task = transact(self.engine, work)
        return None if task is None else Claim(task, name, held_until_s=FOR_EVER_S)


def alter(parts: Parts) -> Parts:
    """With that worker."""
    return replace(parts, kinds=replace(parts.kinds, worker=WorkerWithoutLease))


system = Mutant(
    name="claim_without_lease",
    defect="a claim has no lease, so nothing takes it back when its worker dies",
    expected=(Guarantee.NO_STUCK_TASK,),
    alter=alter,
)

"""Defect: a claim has no lease. After its worker's death the task stays RUNNING forever."""

from sqlalchemy import Connection, bindparam, update

from reference_impl.loops.worker import Worker
from reference_impl.rows import store
from reference_impl.rows.schema import tasks
from reference_impl.rows.transactions import transact
from reference_impl.task import Claim, Task
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Mutant, with_classes

FOREVER_S = 1e9
_REMOVE_LEASE = update(tasks).where(tasks.c.id == bindparam("claimed_id")).values(lease_expires_us=None)


class NoLeaseWorker(Worker):
    """Claims without a lease; only the first heartbeat, later, sets one."""

    __slots__ = ()

    def claim_task(self, task_id: str) -> Claim | None:
        """Claim the task, then remove the lease."""
        name = self.runtime.name

        def work(connection: Connection) -> Task | None:
            task = store.claim(connection, task_id, owner=name, lease_s=self.options.lease_s)
            connection.execute(_REMOVE_LEASE, {"claimed_id": task_id})
            return task

        task = transact(self.engine, work)
        return None if task is None else Claim(task, name, held_until_s=FOREVER_S)


system = Mutant(
    name="claim_without_lease",
    defect="a claim has no lease, so it never expires when its worker dies",
    expected=(Guarantee.NO_STUCK_TASK,),
    patch=with_classes(worker=NoLeaseWorker),
)

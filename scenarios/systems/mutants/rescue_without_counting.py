"""Defect: an abandoned attempt does not count. A task that kills its worker is retried forever."""

from sqlalchemy import Connection, bindparam, update

from reference_impl.loops.rescuer import Rescuer
from reference_impl.rows.schema import tasks
from reference_impl.task import Task
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Mutant, with_classes

_UNCOUNT = (
    update(tasks)
    .where(tasks.c.id == bindparam("rescued_id"), tasks.c.status == "RETRYING")
    .values(attempts_spent=tasks.c.attempts_spent - 1)
)


class UncountedRescuer(Rescuer):
    """Does not count the abandoned attempt."""

    __slots__ = ()

    def rescue(self, connection: Connection, task: Task) -> bool:
        """Rescue the task and decrement its count."""
        rescued = super().rescue(connection, task)
        if rescued:
            connection.execute(_UNCOUNT, {"rescued_id": task.id})
        return rescued


system = Mutant(
    name="rescue_without_counting",
    defect="an attempt whose worker died does not count against the budget of attempts",
    expected=(Guarantee.POISON_BOUNDED,),
    patch=with_classes(rescuer=UncountedRescuer),
)

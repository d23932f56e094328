"""An attempt that falls silent does not count: a task that kills its worker is tried for ever."""

from dataclasses import replace

from sqlalchemy import Connection, bindparam, update

from reference_impl.bootstrap import Parts
from reference_impl.loops.rescuer import Rescuer
from reference_impl.rows.schema import tasks
from reference_impl.task import Task
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant

_FORGIVE = (
    update(tasks)
    .where(tasks.c.id == bindparam("rescued_id"), tasks.c.status == "RETRYING")
    .values(attempts_spent=tasks.c.attempts_spent - 1)
)


class RescuerThatForgives(Rescuer):
    """Gives the budget back with the task."""

    __slots__ = ()

    def rescue(self, connection: Connection, task: Task) -> bool:
        """See reference_impl.loops.rescuer.Rescuer."""
        rescued = super().rescue(connection, task)
        if rescued:
            connection.execute(_FORGIVE, {"rescued_id": task.id})
        return rescued


def alter(parts: Parts) -> Parts:
    """With that rescuer."""
    return replace(parts, kinds=replace(parts.kinds, rescuer=RescuerThatForgives))


system = Mutant(
    name="rescue_without_counting",
    defect="an attempt whose worker died does not count against the budget of attempts",
    expected=(Guarantee.POISON_BOUNDED,),
    alter=alter,
)

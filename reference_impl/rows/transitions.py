"""State transitions of a task: a conditional update and its audit row, in one transaction. The affected-row count decides (R2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, String, Update, bindparam, insert, select, update

from reference_impl.rows.database_clock import now_us
from reference_impl.rows.schema import audit, tasks
from reference_impl.task import TRANSITIONS, TaskState

LEASE_RELEASED: Mapping[str, None] = {"lease_owner": None, "lease_expires_us": None}
"""Column values of a row whose task is no longer held."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A transition of the life cycle with its SQL statement, which is built once. `apply` executes it."""

    from_: TaskState
    to: TaskState
    statement: Update


def transition(from_: TaskState, to: TaskState, *where: ColumnElement[bool], **values: object) -> Transition:
    """The transition of a task from `from_` to `to`, under the further conditions `where`, setting further `values`."""
    assert to in TRANSITIONS[from_], f"{from_} → {to} is not a transition of the life cycle"
    statement = update(tasks).where(tasks.c.id == bindparam("moved_id"), tasks.c.status == from_, *where)
    return Transition(from_, to, statement.values(status=to, updated_us=now_us(), **values))


def apply(connection: Connection, step: Transition, task_id: str, *, actor: str, **bound: object) -> bool:
    """Whether this call made the transition: False if the task was in another state or a condition did not hold.

    No other function changes the state of a task. `bound`: values of the statement's own parameters.
    """
    moved = connection.execute(step.statement, {"moved_id": task_id, **bound})
    if moved.rowcount != 1:
        return False
    write_audit(connection, task_id, step.from_, step.to, actor)
    return True


_WRITE_AUDIT = insert(audit).from_select(
    ["task_id", "from_status", "to_status", "fence", "attempt", "actor", "at_us"],
    select(
        tasks.c.id,
        bindparam("from_", type_=String),
        bindparam("to", type_=String),
        tasks.c.fence,
        tasks.c.attempt,
        bindparam("by", type_=String),
        tasks.c.updated_us,
    ).where(tasks.c.id == bindparam("moved_id")),
)
"""Copies fence, attempt and instant from the task's row, so that they are those of the transition."""


def write_audit(connection: Connection, task_id: str, from_: TaskState | None, to: TaskState, actor: str) -> None:
    """The audit row of a transition that the current transaction has made; `from_` is None for a new task."""
    connection.execute(_WRITE_AUDIT, {"moved_id": task_id, "from_": from_, "to": to, "by": actor})


def audit_trail(connection: Connection, task_id: str) -> list[dict[str, Any]]:
    """The audit rows of a task, oldest first."""
    rows = connection.execute(select(audit).where(audit.c.task_id == task_id).order_by(audit.c.id))
    return [dict(row._mapping) for row in rows]

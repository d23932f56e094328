"""Dead letters: written in the transaction that makes a task DEAD, kept until an operator redrives or discards them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, String, bindparam, func, insert, select, update

from reference_impl.rows import outbox, store
from reference_impl.rows.database_clock import now_us
from reference_impl.rows.schema import dead_letters, tasks
from reference_impl.rows.transitions import apply, transition
from reference_impl.task import Task, TaskState

Reason = Literal["exhausted", "poison"]
"""exhausted: the last attempt failed. poison: the last attempt never ended (its worker died or lost its lease)."""

REDRIVEN = "redriven"
"""Value of `handled_how` for a redriven letter."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead task that waits for an operator."""

    id: int
    task_id: str
    reason: str
    attempts: int
    failure_class: str | None
    failure_message: str | None
    created_us: int


_WRITE = insert(dead_letters).from_select(
    ["task_id", "reason", "attempts", "failure_class", "failure_message", "created_us"],
    select(
        tasks.c.id,
        bindparam("why", type_=String),
        tasks.c.attempts_spent,
        tasks.c.failure_class,
        tasks.c.failure_message,
        tasks.c.updated_us,
    ).where(tasks.c.id == bindparam("dead_id")),
)


def write(connection: Connection, task: Task, reason: Reason, *, dead_queue: str) -> None:
    """Write the letter of a task that this transaction has made DEAD, and its message to the dead-letter queue."""
    connection.execute(_WRITE, {"dead_id": task.id, "why": reason})
    outbox.put(connection, task.id, dead_queue, trace_id=task.trace_id)


def open_letters(connection: Connection, *, rows_max: int, user: str | None = None) -> Sequence[DeadLetter]:
    """The unhandled letters, oldest first; with `user`, those of this user's tasks."""
    letters = select(dead_letters).where(dead_letters.c.handled_us.is_(None))
    if user is not None:
        letters = letters.join(tasks, tasks.c.id == dead_letters.c.task_id).where(tasks.c.user_id == user)
    rows = connection.execute(letters.order_by(dead_letters.c.id).limit(rows_max))
    return [
        DeadLetter(
            row.id, row.task_id, row.reason, row.attempts, row.failure_class, row.failure_message, row.created_us
        )
        for row in rows
    ]


def user_of(connection: Connection, letter_id: int) -> str | None:
    """The user of the letter's task; None: there is no such letter."""
    owner = select(tasks.c.user_id).join(dead_letters, tasks.c.id == dead_letters.c.task_id)
    return connection.scalar(owner.where(dead_letters.c.id == letter_id))


def open_count(connection: Connection) -> int:
    """Number of unhandled letters."""
    return (
        connection.scalar(select(func.count()).select_from(dead_letters).where(dead_letters.c.handled_us.is_(None)))
        or 0
    )


_REDRIVE = transition(
    TaskState.DEAD, TaskState.ACCEPTED, attempts_spent=0, enqueued_us=now_us(), cancel_requested=False
)


def redrive(connection: Connection, letter_id: int, *, actor: str, work_queue: str) -> bool:
    """Put the task back to work with a new budget of attempts; False: there is no such unhandled letter."""
    task_id = _handle(connection, letter_id, how=REDRIVEN)
    task = None if task_id is None else store.find(connection, task_id)
    if task is None:
        return False
    moved = apply(connection, _REDRIVE, task.id, actor=actor)
    if moved:
        outbox.put(connection, task.id, work_queue, trace_id=task.trace_id)
    return moved


def discard(connection: Connection, letter_id: int, *, why: str) -> bool:
    """Close the letter, leaving the task DEAD; False: there is no such unhandled letter."""
    return _handle(connection, letter_id, how=f"discarded: {why}"[:200]) is not None


def _handle(connection: Connection, letter_id: int, *, how: str) -> str | None:
    """Close the letter and return its task's id; None if there is no such unhandled letter."""
    closed = connection.execute(
        update(dead_letters)
        .where(dead_letters.c.id == letter_id, dead_letters.c.handled_us.is_(None))
        .values(handled_us=now_us(), handled_how=how)
    )
    if closed.rowcount != 1:
        return None
    return connection.scalar(select(dead_letters.c.task_id).where(dead_letters.c.id == letter_id))

"""Cancellation of a task by its user."""

import enum

from sqlalchemy import Connection, Engine

from reference_impl.rows import store
from reference_impl.rows.transactions import transact
from reference_impl.rows.transitions import apply, audit_trail, transition
from reference_impl.task import HELD, WAITING, TaskState


class Cancelled(enum.Enum):
    """The answer to a cancellation."""

    DONE = "done"  # cancelled: no attempt runs, and none will
    ASKED = "asked"  # an attempt runs, or may run although its lease has expired: it may still have its effect
    TOO_LATE = "too late"  # the task had ended in another state
    NOT_FOUND = "not found"


_CANCEL = {state: transition(state, TaskState.CANCELLED) for state in WAITING}


def cancel(engine: Engine, task_id: str, *, actor: str) -> Cancelled:
    """Cancel the task. Idempotent.

    Raises:
        DatabaseError: as `transact`.
    """
    return transact(engine, lambda connection: cancel_within(connection, task_id, actor=actor))


def cancel_within(connection: Connection, task_id: str, *, actor: str) -> Cancelled:
    """Cancel the task in this transaction."""
    task = store.find_locked(connection, task_id)
    if task is None:
        return Cancelled.NOT_FOUND
    if task.status in WAITING:
        apply(connection, _CANCEL[task.status], task_id, actor=actor)
        return _answer(connection, task_id)
    if task.status in HELD:
        store.request_cancel(connection, task_id)
        return Cancelled.ASKED
    return _answer(connection, task_id) if task.status is TaskState.CANCELLED else Cancelled.TOO_LATE


def _answer(connection: Connection, task_id: str) -> Cancelled:
    """Of a cancelled task: a worker from which an attempt was taken may only be paused, and go on with it."""
    claimed_by: dict[int, str] = {}
    for row in audit_trail(connection, task_id):
        if row["from_status"] in HELD:
            if claimed_by.get(row["fence"]) != row["actor"]:
                return Cancelled.ASKED
        elif row["to_status"] == TaskState.RUNNING:
            claimed_by[row["fence"]] = row["actor"]
    return Cancelled.DONE

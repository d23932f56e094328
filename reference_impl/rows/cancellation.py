"""Cancellation of a task by its user."""

import enum

from sqlalchemy import Connection, Engine

from reference_impl.rows import store
from reference_impl.rows.transactions import transact
from reference_impl.rows.transitions import apply, transition
from reference_impl.task import HELD, WAITING, TaskState


class Cancelled(enum.Enum):
    """The answer to a cancellation."""

    DONE = "done"  # cancelled: the task will certainly not run again
    ASKED = "asked"  # the running attempt was asked to stop; the task may still succeed
    TOO_LATE = "too late"  # the task had ended in another state
    NOT_FOUND = "not found"


_CANCEL = {state: transition(state, TaskState.CANCELLED) for state in WAITING}


def cancel(engine: Engine, task_id: str, *, actor: str) -> Cancelled:
    """Cancel the task. Idempotent.

    Raises:
        DatabaseError: as `transact`.
    """

    def work(connection: Connection) -> Cancelled:
        task = store.find_locked(connection, task_id)
        if task is None:
            return Cancelled.NOT_FOUND
        if task.status in WAITING:
            apply(connection, _CANCEL[task.status], task_id, actor=actor)
            return Cancelled.DONE
        if task.status in HELD:
            store.request_cancel(connection, task_id)
            return Cancelled.ASKED
        return Cancelled.DONE if task.status is TaskState.CANCELLED else Cancelled.TOO_LATE

    return transact(engine, work)

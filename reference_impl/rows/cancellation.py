"""What a user can do to a task: withdraw it."""

import enum

from sqlalchemy import Connection, Engine

from reference_impl.rows import store
from reference_impl.rows.transactions import transact
from reference_impl.task import HELD, WAITING, TaskState


class Cancelled(enum.Enum):
    """How a cancellation was answered."""

    DONE = "done"  # it will not run again: that is a promise
    ASKED = "asked"  # an attempt is at work and has been asked to stop; it may still succeed
    TOO_LATE = "too late"  # it had ended otherwise
    NOT_FOUND = "not found"


_CANCEL = {state: store.moving(state, TaskState.CANCELLED) for state in WAITING}


def cancel(engine: Engine, task_id: str, *, actor: str) -> Cancelled:
    """Withdraw the task. Idempotent.

    Raises:
        DatabaseError: as `transact`.
    """

    def work(connection: Connection) -> Cancelled:
        task = store.find_locked(connection, task_id)
        if task is None:
            return Cancelled.NOT_FOUND
        if task.status in WAITING:
            store.move(connection, _CANCEL[task.status], task_id, actor=actor)
            return Cancelled.DONE
        if task.status in HELD:
            store.request_cancel(connection, task_id)
            return Cancelled.ASKED
        return Cancelled.DONE if task.status is TaskState.CANCELLED else Cancelled.TOO_LATE

    return transact(engine, work)

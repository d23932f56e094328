"""Cancellation of a task by its user."""

import enum

from sqlalchemy import Connection, Engine

from reference_impl.rows import store
from reference_impl.rows.transactions import transact
from reference_impl.rows.transitions import apply, transition
from reference_impl.task import HELD, LEASE_EXPIRED, WAITING, Task, TaskState


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

    def work(connection: Connection) -> Cancelled:
        task = store.find_locked(connection, task_id)
        if task is None:
            return Cancelled.NOT_FOUND
        if task.status in WAITING:
            apply(connection, _CANCEL[task.status], task_id, actor=actor)
            return _answer(task)
        if task.status in HELD:
            store.request_cancel(connection, task_id)
            return Cancelled.ASKED
        return _answer(task) if task.status is TaskState.CANCELLED else Cancelled.TOO_LATE

    return transact(engine, work)


def _answer(task: Task) -> Cancelled:
    """Of a cancelled task: a worker that lost its lease may only be paused, and go on with its attempt."""
    return Cancelled.ASKED if task.failure_class == LEASE_EXPIRED else Cancelled.DONE

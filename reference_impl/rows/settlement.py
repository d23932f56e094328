"""How an attempt ends in the database: one conditional move by the attempt that still holds the task, with all that hangs on it."""

import enum
from collections.abc import Mapping

from sqlalchemy import BigInteger, ColumnElement, Connection, bindparam, or_, select

from reference_impl.retry import Failure
from reference_impl.rows import dead_letter, outbox, store
from reference_impl.rows.database_clock import microseconds, now_us
from reference_impl.rows.schema import audit, tasks
from reference_impl.rows.store import Move
from reference_impl.task import HELD, Claim, Task, TaskState


class Settled(enum.StrEnum):
    """What became of the attempt's claim to have the last word."""

    SUCCEEDED = "succeeded"
    RETRYING = "retrying"
    FAILED = "failed"
    DEAD = "dead"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    NOT_OURS = "not ours"  # somebody else has the task, or has ended it: this attempt's outcome is dropped (R2)


_SAME_FENCE = tasks.c.fence == bindparam("under_fence")
_RECORD: Mapping[str, object] = {"failure_class": bindparam("new_class"), "failure_message": bindparam("new_message")}


def held_moves(to: TaskState, *where: ColumnElement[bool], **values: object) -> tuple[Move, ...]:
    """How a held task comes to state `to`, under the fence it was read with: out of RUNNING, by far the most often, or WAITING_TOOL."""
    return tuple(store.moving(state, to, _SAME_FENCE, *where, **store.LEASE_GIVEN_UP, **values) for state in HELD)


def retry_moves(*where: ColumnElement[bool]) -> tuple[Move, ...]:
    """How a held task comes to wait for its next attempt, with the record of its failure."""
    due_us = now_us() + bindparam("delay_us", type_=BigInteger)
    return held_moves(TaskState.RETRYING, *where, next_attempt_us=due_us, enqueued_us=due_us, **_RECORD)


def failing_moves(to: TaskState, *where: ColumnElement[bool]) -> tuple[Move, ...]:
    """How a held task ends in state `to`, with the record of its failure."""
    return held_moves(to, *where, **_RECORD)


_IS_OVERDUE = tasks.c.deadline_us <= now_us()
_SUCCEED = held_moves(
    TaskState.SUCCEEDED, or_(tasks.c.deadline_us.is_(None), tasks.c.deadline_us > now_us()), result=bindparam("kept")
)
_EXPIRE = held_moves(TaskState.EXPIRED, _IS_OVERDUE)
_CANCEL = failing_moves(TaskState.CANCELLED, tasks.c.cancel_requested.is_(True))
_FAIL = failing_moves(TaskState.FAILED)
_BURY = failing_moves(TaskState.DEAD)
_RETRY = retry_moves()


def settle_success(connection: Connection, claim: Claim, result: Mapping[str, object] | None) -> Settled:
    """The attempt did its work. Safe to run again when the answer to a first commit was lost."""
    kept = None if result is None else store.document(result)
    if end_held(connection, _SUCCEED, claim.task, actor=claim.owner, kept=kept):
        return Settled.SUCCEEDED
    if end_held(connection, _EXPIRE, claim.task, actor=claim.owner):
        return Settled.EXPIRED
    return _as_it_stands(connection, claim)


def settle_failure(
    connection: Connection,
    claim: Claim,
    failure: Failure,
    *,
    attempts_max: int,
    delay_s: float,
    work_queue: str,
    dead_queue: str,
) -> Settled:
    """The attempt failed: the task is tried again, or ends. Safe to run again when the answer to a first commit was lost."""
    task, actor, record = claim.task, claim.owner, failure_record(failure.error_class, failure.message)
    # Locked first: a cancellation that came between two of the moves below would be promised and then forgotten.
    store.find_locked(connection, task.id)
    if end_held(connection, _CANCEL, task, actor=actor, **record):
        return Settled.CANCELLED
    if failure.kind == "permanent":
        if end_held(connection, _FAIL, task, actor=actor, **record):
            return Settled.FAILED
    elif task.attempts_spent >= attempts_max:
        if end_held(connection, _BURY, task, actor=actor, **record):
            dead_letter.write(connection, task, "exhausted", dead_queue=dead_queue)
            return Settled.DEAD
    elif retry_later(connection, _RETRY, task, actor=actor, delay_s=delay_s, work_queue=work_queue, record=record):
        return Settled.RETRYING
    return _as_it_stands(connection, claim)


def failure_record(error_class: str, message: str) -> dict[str, str | None]:
    """What is kept of a failure, bounded."""
    return {"new_class": error_class[:64], "new_message": message or None}


def retry_later(
    connection: Connection,
    moves: tuple[Move, ...],
    task: Task,
    *,
    actor: str,
    delay_s: float,
    work_queue: str,
    record: Mapping[str, str | None],
) -> bool:
    """Whether the held task, under the fence it was read with, now waits for its next attempt, with the message for it."""
    moved = end_held(connection, moves, task, actor=actor, delay_us=microseconds(delay_s), **record)
    if moved:
        outbox.put(connection, task.id, work_queue, trace_id=task.trace_id, delay_s=delay_s)
    return moved


def end_held(connection: Connection, moves: tuple[Move, ...], task: Task, *, actor: str, **bound: object) -> bool:
    """Whether the held task, under the fence it was read with, has now been moved, by one of `moves`."""
    return any(store.move(connection, kind, task.id, actor=actor, under_fence=task.fence, **bound) for kind in moves)


_OF_STATE = {
    TaskState.SUCCEEDED: Settled.SUCCEEDED,
    TaskState.RETRYING: Settled.RETRYING,
    TaskState.FAILED: Settled.FAILED,
    TaskState.DEAD: Settled.DEAD,
    TaskState.CANCELLED: Settled.CANCELLED,
    TaskState.EXPIRED: Settled.EXPIRED,
}


_OWN_MOVE = (
    select(audit.c.to_status)
    .where(
        audit.c.task_id == bindparam("of_task"),
        audit.c.fence == bindparam("under_fence"),
        audit.c.actor == bindparam("by"),
        audit.c.to_status.in_(tuple(_OF_STATE)),
    )
    .order_by(audit.c.id.desc())
    .limit(1)
)


def _as_it_stands(connection: Connection, claim: Claim) -> Settled:
    """Nothing moved: either an earlier try of ours did it and its answer was lost, or the task is no longer ours."""
    bound = {"of_task": claim.task.id, "under_fence": claim.fence, "by": claim.owner}
    state = connection.scalar(_OWN_MOVE, bound)
    return Settled.NOT_OURS if state is None else _OF_STATE[TaskState(state)]

"""Settling an attempt: one conditional transition by the attempt that holds the task, with its message or dead letter."""

import enum
from collections.abc import Mapping

from sqlalchemy import BigInteger, ColumnElement, Connection, bindparam, or_

from reference_impl.retry import Failure
from reference_impl.rows import dead_letter, outbox, store
from reference_impl.rows.database_clock import microseconds, now_us
from reference_impl.rows.document import document
from reference_impl.rows.schema import FAILURE_CLASS_CHARACTERS_MAX, FAILURE_MESSAGE_CHARACTERS_MAX, tasks
from reference_impl.rows.transitions import LEASE_RELEASED, Transition, apply, transition
from reference_impl.task import HELD, Claim, Task, TaskState


class Settled(enum.StrEnum):
    """The outcome of a settlement."""

    SUCCEEDED = "succeeded"
    RETRYING = "retrying"
    FAILED = "failed"
    DEAD = "dead"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    NOT_HELD = (
        "not held"  # taken over, ended, or settled by an earlier try whose reply was lost: nothing is written (R2)
    )


_SAME_FENCE = tasks.c.fence == bindparam("under_fence")
_RECORD: Mapping[str, object] = {"failure_class": bindparam("new_class"), "failure_message": bindparam("new_message")}


def held_transitions(to: TaskState, *where: ColumnElement[bool], **values: object) -> tuple[Transition, ...]:
    """The transitions of a held task to `to`, conditional on its fence: from RUNNING (by far the most frequent) and from WAITING_TOOL."""
    return tuple(transition(state, to, _SAME_FENCE, *where, **LEASE_RELEASED, **values) for state in HELD)


def retry_transitions(*where: ColumnElement[bool]) -> tuple[Transition, ...]:
    """The transitions of a held task to RETRYING, recording its failure."""
    due_us = now_us() + bindparam("delay_us", type_=BigInteger)
    return held_transitions(TaskState.RETRYING, *where, next_attempt_us=due_us, enqueued_us=due_us, **_RECORD)


def failure_transitions(to: TaskState, *where: ColumnElement[bool]) -> tuple[Transition, ...]:
    """The transitions of a held task to the final state `to`, recording its failure."""
    return held_transitions(to, *where, **_RECORD)


_IS_OVERDUE = tasks.c.deadline_us <= now_us()
_SUCCEED = held_transitions(
    TaskState.SUCCEEDED, or_(tasks.c.deadline_us.is_(None), tasks.c.deadline_us > now_us()), result=bindparam("kept")
)
_EXPIRE = held_transitions(TaskState.EXPIRED, _IS_OVERDUE)
_CANCEL = failure_transitions(TaskState.CANCELLED, tasks.c.cancel_requested.is_(True))
_FAIL = failure_transitions(TaskState.FAILED)
_BURY = failure_transitions(TaskState.DEAD)
_RETRY = retry_transitions()


def settle_success(connection: Connection, claim: Claim, result: Mapping[str, object] | None) -> Settled:
    """Settle a successful attempt. Idempotent, so it may be retried after a commit whose reply was lost."""
    kept = None if result is None else document(result)
    if end_held(connection, _SUCCEED, claim.task, actor=claim.owner, kept=kept):
        return Settled.SUCCEEDED
    if end_held(connection, _EXPIRE, claim.task, actor=claim.owner):
        return Settled.EXPIRED
    return Settled.NOT_HELD


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
    """Settle a failed attempt: the task is retried, or ends. Idempotent, so it may be retried after a commit whose reply was lost."""
    task, actor, record = claim.task, claim.owner, failure_record(failure.error_class, failure.message)
    # Lock the row first: a cancellation between two of the statements below would be confirmed to the user and then ignored.
    store.find_locked(connection, task.id)
    if end_held(connection, _CANCEL, task, actor=actor, **record):
        return Settled.CANCELLED
    if failure.kind == "permanent":
        if end_held(connection, _FAIL, task, actor=actor, **record):
            return Settled.FAILED
    elif task.has_used_up(attempts_max):
        if end_held(connection, _BURY, task, actor=actor, **record):
            dead_letter.write(connection, task, "exhausted", dead_queue=dead_queue)
            return Settled.DEAD
    elif retry_later(connection, _RETRY, task, actor=actor, delay_s=delay_s, work_queue=work_queue, record=record):
        return Settled.RETRYING
    return Settled.NOT_HELD


def failure_record(error_class: str, message: str) -> dict[str, str | None]:
    """The bind parameters that record a failure, bounded to their columns."""
    return {
        "new_class": error_class[:FAILURE_CLASS_CHARACTERS_MAX],
        "new_message": message[:FAILURE_MESSAGE_CHARACTERS_MAX] or None,
    }


def retry_later(
    connection: Connection,
    steps: tuple[Transition, ...],
    task: Task,
    *,
    actor: str,
    delay_s: float,
    work_queue: str,
    record: Mapping[str, str | None],
) -> bool:
    """Make the held task wait for its next attempt and enqueue its message; False: the task is no longer held under this fence."""
    moved = end_held(connection, steps, task, actor=actor, delay_us=microseconds(delay_s), **record)
    if moved:
        outbox.put(connection, task.id, work_queue, trace_id=task.trace_id, delay_s=delay_s)
    return moved


def end_held(connection: Connection, steps: tuple[Transition, ...], task: Task, *, actor: str, **bound: object) -> bool:
    """Apply the first of `steps` that is possible; False: none is, because the task is no longer held under the fence of `task`."""
    return any(apply(connection, step, task.id, actor=actor, under_fence=task.fence, **bound) for step in steps)

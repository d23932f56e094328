"""How an attempt ends in the database: one conditional move by the attempt that still holds the task, with all that hangs on it."""

import enum
from collections.abc import Mapping

from sqlalchemy import ColumnElement, Connection, or_

from reference_impl import dead_letter, outbox, store
from reference_impl.database_clock import microseconds, now_us
from reference_impl.retry import Failure
from reference_impl.schema import tasks
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


def settle_success(connection: Connection, claim: Claim, result: Mapping[str, object] | None) -> Settled:
    """The attempt did its work. Safe to run again when the answer to a first commit was lost."""
    in_time = or_(tasks.c.deadline_us.is_(None), tasks.c.deadline_us > now_us())
    kept = None if result is None else store.document(result)
    if _end(connection, claim, TaskState.SUCCEEDED, where=in_time, values={"result": kept}):
        return Settled.SUCCEEDED
    if _end(connection, claim, TaskState.EXPIRED, where=tasks.c.deadline_us <= now_us()):
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
    record = {"failure_class": failure.error_class[:64], "failure_message": failure.message or None}
    if _end(connection, claim, TaskState.CANCELLED, where=tasks.c.cancel_requested.is_(True), values=record):
        return Settled.CANCELLED
    if failure.kind == "permanent":
        if _end(connection, claim, TaskState.FAILED, values=record):
            return Settled.FAILED
    elif claim.task.retry_count >= attempts_max:
        if _end(connection, claim, TaskState.DEAD, values=record):
            dead_letter.write(connection, claim.task, "exhausted", dead_queue=dead_queue)
            return Settled.DEAD
    elif retry_later(connection, claim.task, actor=claim.owner, delay_s=delay_s, work_queue=work_queue, values=record):
        return Settled.RETRYING
    return _as_it_stands(connection, claim)


def retry_later(
    connection: Connection,
    task: Task,
    *,
    actor: str,
    delay_s: float,
    work_queue: str,
    values: Mapping[str, object],
    where: tuple[ColumnElement[bool], ...] = (),
) -> bool:
    """Whether the held task, under the fence it was read with, now waits for its next attempt, with the message for it."""
    due_us = now_us() + microseconds(delay_s)
    moved = _move_held(
        connection,
        task,
        TaskState.RETRYING,
        actor=actor,
        where=where,
        values={**values, "next_attempt_us": due_us, "enqueued_us": due_us},
    )
    if moved:
        outbox.put(connection, task.id, work_queue, trace_id=task.trace_id, delay_s=delay_s)
    return moved


def end_held(
    connection: Connection,
    task: Task,
    to: TaskState,
    *,
    actor: str,
    where: tuple[ColumnElement[bool], ...] = (),
    values: Mapping[str, object] | None = None,
) -> bool:
    """Whether the held task, under the fence it was read with, has now come to the final state `to`."""
    return _move_held(connection, task, to, actor=actor, where=where, values=values or {})


def _end(
    connection: Connection,
    claim: Claim,
    to: TaskState,
    *,
    where: ColumnElement[bool] | None = None,
    values: Mapping[str, object] | None = None,
) -> bool:
    conditions = () if where is None else (where,)
    return end_held(connection, claim.task, to, actor=claim.owner, where=conditions, values=values)


def _move_held(
    connection: Connection,
    task: Task,
    to: TaskState,
    *,
    actor: str,
    where: tuple[ColumnElement[bool], ...],
    values: Mapping[str, object],
) -> bool:
    """RUNNING by far the most often, so that is tried first."""
    return any(
        store.move(
            connection,
            task.id,
            state,
            to,
            actor=actor,
            where=(tasks.c.fence == task.fence, *where),
            values={**store.LEASE_GIVEN_UP, **values},
        )
        for state in HELD
    )


def _as_it_stands(connection: Connection, claim: Claim) -> Settled:
    """Nothing moved: either an earlier try of ours did it and its answer was lost, or the task is no longer ours."""
    task = store.find(connection, claim.task.id)
    if task is None or task.fence != claim.fence or task.status in HELD:
        return Settled.NOT_OURS
    return _OF_STATE.get(task.status, Settled.NOT_OURS)


_OF_STATE = {
    TaskState.SUCCEEDED: Settled.SUCCEEDED,
    TaskState.RETRYING: Settled.RETRYING,
    TaskState.FAILED: Settled.FAILED,
    TaskState.DEAD: Settled.DEAD,
    TaskState.CANCELLED: Settled.CANCELLED,
    TaskState.EXPIRED: Settled.EXPIRED,
}

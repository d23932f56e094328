"""Task rows: reading, inserting, claiming, renewing a lease."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Connection, Row, bindparam, insert, or_, select, update

from reference_impl.rows.database_clock import microseconds, now_us
from reference_impl.rows.schema import tasks
from reference_impl.rows.transitions import apply, transition, write_audit
from reference_impl.task import HELD, WAITING, Task, TaskState


def task_of(row: Row[Any]) -> Task:
    """The task of a complete row of `tasks`."""
    return Task(
        id=row.id,
        user_id=row.user_id,
        type=row.type,
        priority=row.priority,
        status=TaskState(row.status),
        payload=json.loads(row.payload),
        request_hash=row.request_hash,
        trace_id=row.trace_id,
        attempt=row.attempt,
        attempts_spent=row.attempts_spent,
        fence=row.fence,
        cancel_requested=bool(row.cancel_requested),
        created_us=row.created_us,
        updated_us=row.updated_us,
        enqueued_us=row.enqueued_us,
        deadline_us=row.deadline_us,
        next_attempt_us=row.next_attempt_us,
        lease_owner=row.lease_owner,
        lease_expires_us=row.lease_expires_us,
        last_run_us=row.last_run_us,
        result=None if row.result is None else json.loads(row.result),
        failure_class=row.failure_class,
        failure_message=row.failure_message,
    )


# Statements are built once, with parameters: building a statement costs more than executing it.
_FIND = select(tasks).where(tasks.c.id == bindparam("task_id"))
_FIND_LOCKED = _FIND.with_for_update()
_LOCK_IF_FREE = select(tasks.c.id).where(tasks.c.id == bindparam("task_id")).with_for_update(skip_locked=True)
_FIND_BY_KEY = select(tasks).where(
    tasks.c.user_id == bindparam("user_id"), tasks.c.request_key == bindparam("request_key")
)


def find(connection: Connection, task_id: str) -> Task | None:
    """The task in its current state."""
    row = connection.execute(_FIND, {"task_id": task_id}).one_or_none()
    return None if row is None else task_of(row)


def find_locked(connection: Connection, task_id: str) -> Task | None:
    """The task in its current state, with its row locked until this transaction ends."""
    row = connection.execute(_FIND_LOCKED, {"task_id": task_id}).one_or_none()
    return None if row is None else task_of(row)


def lock_if_free(connection: Connection, task_id: str) -> bool:
    """Lock the row of the task until this transaction ends; False, without waiting: another transaction has locked it."""
    return connection.execute(_LOCK_IF_FREE, {"task_id": task_id}).one_or_none() is not None


def find_by_key(connection: Connection, user_id: str, request_key: str) -> Task | None:
    """The task that an earlier submission of this user with this key created."""
    row = connection.execute(_FIND_BY_KEY, {"user_id": user_id, "request_key": request_key}).one_or_none()
    return None if row is None else task_of(row)


@dataclass(frozen=True, slots=True)
class NewRow:
    """The columns of a new task that the client and the API determine; `payload` is a JSON document, `deadline_s` counts from now."""

    id: str
    user_id: str
    type: str
    priority: int
    request_key: str
    request_hash: str
    payload: str
    trace_id: str
    deadline_s: float | None


_INSERT_ACCEPTED = insert(tasks).values(
    id=bindparam("id"),
    user_id=bindparam("user_id"),
    type=bindparam("type"),
    priority=bindparam("priority"),
    request_key=bindparam("request_key"),
    request_hash=bindparam("request_hash"),
    payload=bindparam("payload"),
    trace_id=bindparam("trace_id"),
    deadline_us=now_us() + bindparam("time_left_us", type_=BigInteger),  # NULL if there is no deadline
    status=TaskState.ACCEPTED,
    attempt=0,
    attempts_spent=0,
    fence=0,
    cancel_requested=False,
    enqueued_us=now_us(),
    created_us=now_us(),
    updated_us=now_us(),
)


def insert_accepted(connection: Connection, row: NewRow, *, actor: str) -> None:
    """Insert a task in the state ACCEPTED, and its audit row.

    Raises:
        sqlalchemy.exc.IntegrityError: another task of this user has this key.
    """
    bound = {
        "id": row.id,
        "user_id": row.user_id,
        "type": row.type,
        "priority": row.priority,
        "request_key": row.request_key,
        "request_hash": row.request_hash,
        "payload": row.payload,
        "trace_id": row.trace_id,
        "time_left_us": None if row.deadline_s is None else microseconds(row.deadline_s),
    }
    connection.execute(_INSERT_ACCEPTED, bound)
    write_audit(connection, row.id, None, TaskState.ACCEPTED, actor)


_IN_TIME = or_(tasks.c.deadline_us.is_(None), tasks.c.deadline_us > now_us())
_CLAIMED: Mapping[str, object] = {
    "fence": tasks.c.fence + 1,
    "attempt": tasks.c.attempt + 1,
    "attempts_spent": tasks.c.attempts_spent + 1,
    "lease_owner": bindparam("owner"),
    "lease_expires_us": now_us() + bindparam("lease_us", type_=BigInteger),
    "heartbeat_us": now_us(),
    "last_run_us": now_us(),
    "next_attempt_us": None,
}
_CLAIM_ACCEPTED = transition(TaskState.ACCEPTED, TaskState.RUNNING, _IN_TIME, **_CLAIMED)
_IS_DUE = tasks.c.next_attempt_us <= now_us()
_CLAIM_DUE = transition(TaskState.RETRYING, TaskState.RUNNING, _IN_TIME, _IS_DUE, **_CLAIMED)


def claim(connection: Connection, task_id: str, *, owner: str, lease_s: float) -> Task | None:
    """The task, now RUNNING with a new fence and leased to `owner`; None if it is not runnable or another attempt holds it."""
    lease_us = microseconds(lease_s)
    won = any(
        apply(connection, step, task_id, actor=owner, owner=owner, lease_us=lease_us)
        for step in (_CLAIM_ACCEPTED, _CLAIM_DUE)
    )
    return find(connection, task_id) if won else None


_RENEW = (
    update(tasks)
    .where(tasks.c.id == bindparam("held_id"), tasks.c.fence == bindparam("under_fence"), tasks.c.status.in_(HELD))
    .values(lease_expires_us=now_us() + bindparam("lease_us", type_=BigInteger), heartbeat_us=now_us())
)


def renew(connection: Connection, task_id: str, *, fence: int, lease_s: float) -> bool:
    """Extend the lease to `lease_s` from now; False: the attempt with this fence no longer holds the task."""
    bound = {"held_id": task_id, "under_fence": fence, "lease_us": microseconds(lease_s)}
    return connection.execute(_RENEW, bound).rowcount == 1


_NOTE_ENQUEUED = (
    update(tasks)
    .where(
        tasks.c.id == bindparam("waiting_id"),
        tasks.c.status.in_(WAITING),
        tasks.c.enqueued_us == bindparam("seen_us", type_=BigInteger),
    )
    .values(enqueued_us=now_us())
)


def note_enqueued(connection: Connection, task_id: str, *, seen_us: int) -> bool:
    """Set `enqueued_us` to now; False: the task no longer waits, or `enqueued_us` has changed since `seen_us` was read."""
    return connection.execute(_NOTE_ENQUEUED, {"waiting_id": task_id, "seen_us": seen_us}).rowcount == 1


def request_cancel(connection: Connection, task_id: str) -> None:
    """Ask the running attempt to stop."""
    connection.execute(update(tasks).where(tasks.c.id == task_id).values(cancel_requested=True))

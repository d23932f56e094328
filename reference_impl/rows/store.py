"""The task rows: conditional updates, each with its audit row in the same transaction. The affected-row count says who won."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    String,
    Update,
    bindparam,
    insert,
    or_,
    select,
    update,
)

from reference_impl.rows.database_clock import microseconds, now_us
from reference_impl.rows.schema import audit, tasks
from reference_impl.task import HELD, LEGAL_MOVES, WAITING, Task, TaskState

DEPTH_MAX = 64
"""Levels of nesting in a document: far from where the interpreter's own limit, which depends on who calls, would end a reader."""


def document(value: object) -> str:
    """A JSON value as the database keeps it: canonical, ASCII only, so that no character can fail on its way.

    Raises:
        ValueError: NaN or an infinity, nested deeper than `DEPTH_MAX`, or half of a surrogate pair, which is no text.
        TypeError: no JSON value.
    """
    if _is_deeper(value, DEPTH_MAX):
        raise ValueError(f"nested deeper than {DEPTH_MAX} levels")
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    if "\\ud" in text:  # perhaps a surrogate: UTF-8 has none
        json.dumps(value, ensure_ascii=False).encode()
    return text


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, (dict, list, tuple)):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(part, levels - 1) for part in parts)


def task_of(row: Row[Any]) -> Task:
    """The task that a whole row of `tasks` describes."""
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


# Statements are built once, with parameters: building them anew costs more than executing them.
_FIND = select(tasks).where(tasks.c.id == bindparam("task_id"))
_FIND_LOCKED = _FIND.with_for_update()
_FIND_BY_KEY = select(tasks).where(
    tasks.c.user_id == bindparam("user_id"), tasks.c.request_key == bindparam("request_key")
)


def find(connection: Connection, task_id: str) -> Task | None:
    """The task as it is now."""
    row = connection.execute(_FIND, {"task_id": task_id}).one_or_none()
    return None if row is None else task_of(row)


def find_locked(connection: Connection, task_id: str) -> Task | None:
    """The task as it is, and stays for everybody else until this transaction ends."""
    row = connection.execute(_FIND_LOCKED, {"task_id": task_id}).one_or_none()
    return None if row is None else task_of(row)


def find_by_key(connection: Connection, user_id: str, request_key: str) -> Task | None:
    """The task that an earlier submission of the same user with the same key made."""
    row = connection.execute(_FIND_BY_KEY, {"user_id": user_id, "request_key": request_key}).one_or_none()
    return None if row is None else task_of(row)


_INSERT_ACCEPTED = insert(tasks).values(
    id=bindparam("id"),
    user_id=bindparam("user_id"),
    type=bindparam("type"),
    priority=bindparam("priority"),
    request_key=bindparam("request_key"),
    request_hash=bindparam("request_hash"),
    payload=bindparam("payload"),
    trace_id=bindparam("trace_id"),
    deadline_us=now_us() + bindparam("time_left_us", type_=BigInteger),  # null, where there is no deadline
    status=TaskState.ACCEPTED,
    attempt=0,
    attempts_spent=0,
    fence=0,
    cancel_requested=False,
    enqueued_us=now_us(),
    created_us=now_us(),
    updated_us=now_us(),
)


def insert_accepted(
    connection: Connection, values: Mapping[str, object], *, deadline_s: float | None, actor: str
) -> None:
    """A new task row, ACCEPTED, and its audit row; the deadline counts from now.

    Raises:
        sqlalchemy.exc.IntegrityError: this user's key is taken.
    """
    time_left_us = None if deadline_s is None else microseconds(deadline_s)
    connection.execute(_INSERT_ACCEPTED, {**values, "time_left_us": time_left_us})
    _write_audit(connection, str(values["id"]), None, TaskState.ACCEPTED, actor)


@dataclass(frozen=True, slots=True)
class Move:
    """One kind of move of the life cycle, with its statement, which is built once. `move` executes it."""

    from_: TaskState
    to: TaskState
    statement: Update


def moving(from_: TaskState, to: TaskState, *where: ColumnElement[bool], **values: object) -> Move:
    """The move of a task that is in state `from_`, and for which `where` holds, to state `to`, with further values."""
    assert to in LEGAL_MOVES[from_], f"{from_} → {to} is no move of the life cycle"
    statement = update(tasks).where(tasks.c.id == bindparam("moved_id"), tasks.c.status == from_, *where)
    return Move(from_, to, statement.values(status=to, updated_us=now_us(), **values))


def move(connection: Connection, kind: Move, task_id: str, *, actor: str, **bound: object) -> bool:
    """Whether the task was in the state that this move begins in (and its conditions held) and now is where it ends, with its audit row.

    The one way by which a task changes its state. `bound`: values of the statement's own parameters.
    """
    moved = connection.execute(kind.statement, {"moved_id": task_id, **bound})
    if moved.rowcount != 1:
        return False
    _write_audit(connection, task_id, kind.from_, kind.to, actor)
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
"""From the row itself, so that fence, attempt and instant are those of the move."""


def _write_audit(connection: Connection, task_id: str, from_: TaskState | None, to: TaskState, actor: str) -> None:
    connection.execute(_WRITE_AUDIT, {"moved_id": task_id, "from_": from_, "to": to, "by": actor})


LEASE_GIVEN_UP: Mapping[str, None] = {"lease_owner": None, "lease_expires_us": None}
"""What leaves a row together with the state in which it was held."""

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
_CLAIM_ACCEPTED = moving(TaskState.ACCEPTED, TaskState.RUNNING, _IN_TIME, **_CLAIMED)
_CLAIM_DUE = moving(TaskState.RETRYING, TaskState.RUNNING, _IN_TIME, tasks.c.next_attempt_us <= now_us(), **_CLAIMED)


def claim(connection: Connection, task_id: str, *, owner: str, lease_s: float) -> Task | None:
    """The task, now RUNNING under a new fence and held by `owner`; None if it is not to be run, or somebody else runs it."""
    lease_us = microseconds(lease_s)
    won = any(
        move(connection, kind, task_id, actor=owner, owner=owner, lease_us=lease_us)
        for kind in (_CLAIM_ACCEPTED, _CLAIM_DUE)
    )
    return find(connection, task_id) if won else None


_RENEW = (
    update(tasks)
    .where(tasks.c.id == bindparam("held_id"), tasks.c.fence == bindparam("under_fence"), tasks.c.status.in_(HELD))
    .values(lease_expires_us=now_us() + bindparam("lease_us", type_=BigInteger), heartbeat_us=now_us())
)


def renew(connection: Connection, task_id: str, *, fence: int, lease_s: float) -> bool:
    """Whether the attempt with this fence still held the task; its lease now runs another `lease_s`."""
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
    """Whether the task still waits, and nobody else has put it in the queue again since `enqueued_us` was seen."""
    return connection.execute(_NOTE_ENQUEUED, {"waiting_id": task_id, "seen_us": seen_us}).rowcount == 1


def request_cancel(connection: Connection, task_id: str) -> None:
    """Ask the attempt that holds the task to give it up."""
    connection.execute(update(tasks).where(tasks.c.id == task_id).values(cancel_requested=True))


def transitions(connection: Connection, task_id: str) -> list[dict[str, Any]]:
    """Every state the task has been in, oldest first, from the audit trail."""
    rows = connection.execute(select(audit).where(audit.c.task_id == task_id).order_by(audit.c.id))
    return [dict(row._mapping) for row in rows]

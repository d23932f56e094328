"""The transactional outbox: a message is a row, committed together with the change that it announces, and published afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import BigInteger, Connection, Integer, bindparam, delete, func, insert, or_, select, update

from reference_impl.rows.database_clock import microseconds, now_us
from reference_impl.rows.document import document
from reference_impl.rows.schema import outbox, tasks
from reference_impl.task import WAITING

PENDING = "PENDING"
SENT = "SENT"


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A message to be published."""

    id: int
    queue: str
    body: str


# Statements are built once, with parameters: building a statement costs more than executing it.
_PUT = insert(outbox).values(
    task_id=bindparam("task_id"),
    queue=bindparam("queue"),
    body=bindparam("body"),
    status=PENDING,
    available_us=now_us() + bindparam("delay_us", type_=BigInteger),
    created_us=now_us(),
)


def put(connection: Connection, task_id: str, queue: str, *, trace_id: str, delay_s: float = 0.0) -> None:
    """Enqueue the task's message for publication to `queue`, not before `delay_s` from now."""
    body = document({"task_id": task_id, "trace_id": trace_id})
    connection.execute(_PUT, {"task_id": task_id, "queue": queue, "body": body, "delay_us": microseconds(delay_s)})


_IS_FREE = or_(outbox.c.claim_expires_us.is_(None), outbox.c.claim_expires_us < now_us())
# SKIP LOCKED (not in SQLite) only prevents relays from waiting for each other; the update below decides.
_DUE = (
    select(outbox.c.id)
    .where(outbox.c.status == PENDING, outbox.c.available_us <= now_us(), _IS_FREE)
    .order_by(outbox.c.available_us, outbox.c.id)
    .limit(bindparam("rows_max", type_=Integer))
    .with_for_update(skip_locked=True)
)
_IDS = bindparam("ids", type_=BigInteger)
_CLAIM = (
    update(outbox)
    .where(outbox.c.id.in_(_IDS), outbox.c.status == PENDING, _IS_FREE)
    .values(claim=bindparam("new_claim"), claim_expires_us=now_us() + bindparam("claim_us", type_=BigInteger))
)
_CLAIMED = (
    select(outbox.c.id, outbox.c.queue, outbox.c.body)
    .where(outbox.c.id.in_(_IDS), outbox.c.claim == bindparam("new_claim"))
    .order_by(outbox.c.id)
)
_MARK_SENT = (
    update(outbox).where(outbox.c.id.in_(_IDS), outbox.c.status == PENDING).values(status=SENT, sent_us=now_us())
)
_RELEASE = (
    update(outbox)
    .where(outbox.c.id.in_(_IDS), outbox.c.claim == bindparam("own_claim"), outbox.c.status == PENDING)
    .values(claim=None, claim_expires_us=None)
)
_POSTPONE = _RELEASE.values(available_us=now_us() + bindparam("delay_us", type_=BigInteger))


def claim_batch(connection: Connection, claim: str, *, rows_max: int, claim_s: float) -> Sequence[OutboxRow]:
    """Mark due rows that no other relay is publishing with `claim`, for `claim_s`, and return them.

    Rows are found by state, never by "greater than the last id": a row with a lower id may be committed later.
    """
    ids = connection.scalars(_DUE, {"rows_max": rows_max}).all()
    if not ids:
        return []
    connection.execute(_CLAIM, {"ids": ids, "new_claim": claim, "claim_us": microseconds(claim_s)})
    rows = connection.execute(_CLAIMED, {"ids": ids, "new_claim": claim})
    return [OutboxRow(row.id, row.queue, row.body) for row in rows]


def mark_sent(connection: Connection, ids: Sequence[int]) -> None:
    """Mark rows that the broker has confirmed. A confirm counts even if the relay's claim has expired since."""
    if ids:
        connection.execute(_MARK_SENT, {"ids": ids})


def release(connection: Connection, claim: str, ids: Sequence[int]) -> None:
    """Release unconfirmed rows, so that any relay may publish them again at once; rows claimed by another relay stay as they are."""
    if ids:
        connection.execute(_RELEASE, {"ids": ids, "own_claim": claim})


def postpone(connection: Connection, claim: str, ids: Sequence[int], *, delay_s: float) -> None:
    """As `release`, for rows that the broker refused: published again after `delay_s` at the earliest, so as not to block other rows."""
    if ids:
        connection.execute(_POSTPONE, {"ids": ids, "own_claim": claim, "delay_us": microseconds(delay_s)})


_OLDEST_PENDING_AGE = select(now_us() - func.min(outbox.c.available_us)).where(outbox.c.status == PENDING)
_OLD_SENT = (
    select(outbox.c.id)
    .where(outbox.c.status == SENT, outbox.c.available_us < now_us() - bindparam("age_us", type_=BigInteger))
    .limit(bindparam("rows_max", type_=Integer))
)


def oldest_pending_age_us(connection: Connection) -> int:
    """How long the oldest due row has been waiting for publication; 0 if there is none."""
    age: int | None = connection.scalar(_OLDEST_PENDING_AGE)
    return max(0, age or 0)


def pending_count(connection: Connection) -> int:
    """Number of rows not yet confirmed."""
    return connection.scalar(select(func.count()).select_from(outbox).where(outbox.c.status == PENDING)) or 0


def purge_sent(connection: Connection, *, older_than_s: float, rows_max: int) -> int:
    """Delete at most `rows_max` rows that were sent more than `older_than_s` ago; return their number."""
    ids = connection.scalars(_OLD_SENT, {"age_us": microseconds(older_than_s), "rows_max": rows_max}).all()
    if ids:
        connection.execute(delete(outbox).where(outbox.c.id.in_(ids)))
    return len(ids)


_LATEST_OF_WAITING = (
    select(func.max(outbox.c.id).label("id"))
    .join(tasks, tasks.c.id == outbox.c.task_id)
    .where(tasks.c.status.in_(WAITING))
    .group_by(outbox.c.task_id)
    .subquery()
)


def revive_waiting(connection: Connection) -> None:
    """Publish the message of every waiting task again, because the queue did not survive a restart.

    Only the latest message of each task: earlier ones belong to past attempts, or to a dead letter before a redrive.
    """
    connection.execute(
        update(outbox)
        .where(outbox.c.id.in_(select(_LATEST_OF_WAITING.c.id)), outbox.c.status == SENT)
        .values(status=PENDING, claim=None, claim_expires_us=None)
    )

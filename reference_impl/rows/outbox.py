"""The transactional outbox: a message is a row, committed together with the fact it tells of, and published afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import BigInteger, Connection, Integer, bindparam, delete, func, insert, or_, select, update

from reference_impl.rows.database_clock import microseconds, now_us
from reference_impl.rows.schema import outbox, tasks
from reference_impl.rows.store import document
from reference_impl.task import WAITING

PENDING = "PENDING"
SENT = "SENT"


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A message that waits to be published."""

    id: int
    queue: str
    body: str


# Statements are built once, with parameters: building them anew costs more than executing them.
_PUT = insert(outbox).values(
    task_id=bindparam("task_id"),
    queue=bindparam("queue"),
    body=bindparam("body"),
    status=PENDING,
    available_us=now_us() + bindparam("delay_us", type_=BigInteger),
    created_us=now_us(),
)


def put(connection: Connection, task_id: str, queue: str, *, trace_id: str, delay_s: float = 0.0) -> None:
    """Have the task's message published to `queue`, not before `delay_s` from now."""
    body = document({"task_id": task_id, "trace_id": trace_id})
    connection.execute(_PUT, {"task_id": task_id, "queue": queue, "body": body, "delay_us": microseconds(delay_s)})


_IS_FREE = or_(outbox.c.claim_expires_us.is_(None), outbox.c.claim_expires_us < now_us())
# SKIP LOCKED (which SQLite leaves out) only keeps relays from waiting for one another; the update below decides.
_DUE = (
    select(outbox.c.id)
    .where(outbox.c.status == PENDING, outbox.c.available_us <= now_us(), _IS_FREE)
    .order_by(outbox.c.available_us, outbox.c.id)
    .limit(bindparam("rows_max", type_=Integer))
    .with_for_update(skip_locked=True)
)
_IDS = bindparam("ids", expanding=True, type_=BigInteger)
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
_GIVE_BACK = (
    update(outbox)
    .where(outbox.c.id.in_(_IDS), outbox.c.claim == bindparam("own_claim"), outbox.c.status == PENDING)
    .values(claim=None, claim_expires_us=None)
)
_PUT_OFF = _GIVE_BACK.values(available_us=now_us() + bindparam("delay_us", type_=BigInteger))


def claim_batch(connection: Connection, claim: str, *, rows_max: int, claim_s: float) -> Sequence[OutboxRow]:
    """Rows that are due and that no other relay is publishing, now marked with `claim` for `claim_s`.

    By state, never by "greater than the last id": a row that committed late with a lower id is found like any other.
    """
    ids = connection.scalars(_DUE, {"rows_max": rows_max}).all()
    if not ids:
        return []
    connection.execute(_CLAIM, {"ids": ids, "new_claim": claim, "claim_us": microseconds(claim_s)})
    rows = connection.execute(_CLAIMED, {"ids": ids, "new_claim": claim})
    return [OutboxRow(row.id, row.queue, row.body) for row in rows]


def mark_sent(connection: Connection, ids: Sequence[int]) -> None:
    """These are confirmed by the broker. Whoever published them: a confirm is a confirm, also after the claim ran out."""
    if ids:
        connection.execute(_MARK_SENT, {"ids": ids})


def give_back(connection: Connection, claim: str, ids: Sequence[int]) -> None:
    """These were not confirmed: they may be published again, by anybody, at once, unless somebody else has claimed them since."""
    if ids:
        connection.execute(_GIVE_BACK, {"ids": ids, "own_claim": claim})


def put_off(connection: Connection, claim: str, ids: Sequence[int], *, delay_s: float) -> None:
    """These the broker does not take: as `give_back`, but not before `delay_s` from now, so that they do not stand before the others."""
    if ids:
        connection.execute(_PUT_OFF, {"ids": ids, "own_claim": claim, "delay_us": microseconds(delay_s)})


_OLDEST_PENDING_AGE = select(now_us() - func.min(outbox.c.available_us)).where(outbox.c.status == PENDING)
_OLD_SENT = (
    select(outbox.c.id)
    .where(outbox.c.status == SENT, outbox.c.available_us < now_us() - bindparam("age_us", type_=BigInteger))
    .limit(bindparam("rows_max", type_=Integer))
)


def oldest_pending_age_us(connection: Connection) -> int:
    """How long the oldest due row has been waiting to be published; 0 if none waits."""
    age: int | None = connection.scalar(_OLDEST_PENDING_AGE)
    return max(0, age or 0)


def pending_count(connection: Connection) -> int:
    """Rows not yet confirmed."""
    return connection.scalar(select(func.count()).select_from(outbox).where(outbox.c.status == PENDING)) or 0


def purge_sent(connection: Connection, *, older_than_s: float, rows_max: int) -> int:
    """Delete some of the rows that were sent long ago; how many."""
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
    """Have the message of every task that still waits published again: for a queue that did not survive a restart.

    The latest of each task: earlier ones were for attempts that are over, or for the dead letters before a redrive.
    """
    connection.execute(
        update(outbox)
        .where(outbox.c.id.in_(select(_LATEST_OF_WAITING.c.id)), outbox.c.status == SENT)
        .values(status=PENDING, claim=None, claim_expires_us=None)
    )

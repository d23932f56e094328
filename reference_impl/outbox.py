"""The transactional outbox: a message is a row, committed together with the fact it tells of, and published afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from reference_impl.database_clock import microseconds, now_us
from reference_impl.schema import outbox, tasks
from reference_impl.store import document
from reference_impl.task import WAITING

PENDING = "PENDING"
SENT = "SENT"


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A message that waits to be published."""

    id: int
    queue: str
    body: str


def put(connection: Connection, task_id: str, queue: str, *, trace_id: str, delay_s: float = 0.0) -> None:
    """Have the task's message published to `queue`, not before `delay_s` from now."""
    connection.execute(
        insert(outbox).values(
            task_id=task_id,
            queue=queue,
            body=document({"task_id": task_id, "trace_id": trace_id}),
            status=PENDING,
            available_us=now_us() + microseconds(delay_s),
            created_us=now_us(),
        )
    )


def claim_batch(connection: Connection, claim: str, *, rows_max: int, claim_s: float) -> Sequence[OutboxRow]:
    """Rows that are due and that no other relay is publishing, now marked with `claim` for `claim_s`.

    By state, never by "greater than the last id": a row that committed late with a lower id is found like any other.
    """
    free = or_(outbox.c.claim_expires_us.is_(None), outbox.c.claim_expires_us < now_us())
    due = select(outbox.c.id).where(outbox.c.status == PENDING, outbox.c.available_us <= now_us(), free)
    # SKIP LOCKED (which SQLite leaves out) only keeps relays from waiting for one another; the update below decides.
    ids = connection.scalars(
        due.order_by(outbox.c.available_us, outbox.c.id).limit(rows_max).with_for_update(skip_locked=True)
    ).all()
    if not ids:
        return []
    connection.execute(
        update(outbox)
        .where(outbox.c.id.in_(ids), outbox.c.status == PENDING, free)
        .values(claim=claim, claim_expires_us=now_us() + microseconds(claim_s))
    )
    mine = select(outbox.c.id, outbox.c.queue, outbox.c.body).where(outbox.c.id.in_(ids), outbox.c.claim == claim)
    return [OutboxRow(row.id, row.queue, row.body) for row in connection.execute(mine.order_by(outbox.c.id))]


def mark_sent(connection: Connection, ids: Sequence[int]) -> None:
    """These are confirmed by the broker. Whoever published them: a confirm is a confirm, also after the claim ran out."""
    if ids:
        connection.execute(
            update(outbox).where(outbox.c.id.in_(ids), outbox.c.status == PENDING).values(status=SENT, sent_us=now_us())
        )


def give_back(connection: Connection, claim: str, ids: Sequence[int]) -> None:
    """These were not confirmed: they may be published again, by anybody, at once, unless somebody else has claimed them since."""
    if ids:
        connection.execute(
            update(outbox)
            .where(outbox.c.id.in_(ids), outbox.c.claim == claim, outbox.c.status == PENDING)
            .values(claim=None, claim_expires_us=None)
        )


def oldest_pending_age_us(connection: Connection) -> int:
    """How long the oldest due row has been waiting to be published; 0 if none waits."""
    age: int | None = connection.scalar(
        select(now_us() - func.min(outbox.c.available_us)).where(outbox.c.status == PENDING)
    )
    return max(0, age or 0)


def pending_count(connection: Connection) -> int:
    """Rows not yet confirmed."""
    return connection.scalar(select(func.count()).select_from(outbox).where(outbox.c.status == PENDING)) or 0


def purge_sent(connection: Connection, *, older_than_s: float, rows_max: int) -> int:
    """Delete some of the rows that were sent long ago; how many."""
    old: ColumnElement[bool] = outbox.c.available_us < now_us() - microseconds(older_than_s)
    ids = connection.scalars(select(outbox.c.id).where(outbox.c.status == SENT, old).limit(rows_max)).all()
    if ids:
        connection.execute(delete(outbox).where(outbox.c.id.in_(ids)))
    return len(ids)


def revive_waiting(connection: Connection) -> None:
    """Have the messages of every task that still waits published again: for a queue that did not survive a restart."""
    waiting = select(tasks.c.id).where(tasks.c.status.in_(WAITING))
    connection.execute(
        update(outbox)
        .where(outbox.c.status == SENT, outbox.c.task_id.in_(waiting))
        .values(status=PENDING, claim=None, claim_expires_us=None)
    )

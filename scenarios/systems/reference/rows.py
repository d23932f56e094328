"""The reference's database in the lab's terms: the tasks by state, and the audit trail as events."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from heapq import merge
from typing import Any

from sqlalchemy import Connection, func, select

from reference_impl.rows.dead_letter import REDRIVEN
from reference_impl.rows.schema import audit, dead_letters, outbox, tasks
from reference_impl.task import TaskState
from scenarios.contract.system import Account
from scenarios.record.history import Event

US_TO_NS = 1000

LISTS: Mapping[str, str] = {
    TaskState.SUCCEEDED: "done",
    TaskState.DEAD: "dead",
    TaskState.FAILED: "dead",
    TaskState.CANCELLED: "cancelled",
    TaskState.EXPIRED: "expired",
}

_ACCOUNT = select(tasks.c.payload, tasks.c.status)
_OUTBOX = select(outbox.c.status, func.count()).group_by(outbox.c.status).order_by(outbox.c.status)
_TRANSITIONS = select(audit, tasks.c.payload).join(tasks, tasks.c.id == audit.c.task_id).order_by(audit.c.id)
_LETTERS = (
    select(dead_letters, tasks.c.payload).join(tasks, tasks.c.id == dead_letters.c.task_id).order_by(dead_letters.c.id)
)


def account_of(connection: Connection) -> Account:
    """The tasks by state, from their rows."""
    lists: dict[str, list[str]] = {name: [] for name in ("done", "dead", "cancelled", "expired", "pending")}
    for payload, status in connection.execute(_ACCOUNT):
        lists[LISTS.get(status, "pending")].append(_task(payload))
    return Account(**{name: tuple(sorted(names)) for name, names in lists.items()})


def work_left_of(connection: Connection) -> Sequence[str]:
    """The rows of the outbox by status, a clause each."""
    return [f"{count} rows of the outbox are {status}" for status, count in connection.execute(_OUTBOX)]


def trail_of(connection: Connection, epoch_ns: int = 0) -> Sequence[Event]:
    """Audit rows, dead letters and redrives as events, in order of time; instants count from `epoch_ns`."""
    transitions = [_state_event(row, epoch_ns) for row in connection.execute(_TRANSITIONS)]
    rows = connection.execute(_LETTERS).all()
    letters = [_dead_event(row, epoch_ns) for row in rows]
    redrives = [_redrive_event(row, epoch_ns) for row in rows if row.handled_how == REDRIVEN]
    return list(merge(transitions, letters, sorted(redrives, key=_time), key=_time))


def _time(event: Event) -> int:
    assert event.t_ns is not None, "every row has an instant"
    return event.t_ns


@lru_cache(maxsize=256)
def _task(payload: str) -> str:
    """Cached, because the account is read after every commit, and most payloads have not changed."""
    return str(json.loads(payload)["task"])


def _state_event(row: Any, epoch_ns: int) -> Event:
    return Event(
        event="state",
        actor="database",
        t_ns=row.at_us * US_TO_NS - epoch_ns,
        task=_task(row.payload),
        from_=row.from_status,
        to=row.to_status,
        fence=row.fence,
        attempt=row.attempt,
        detail=row.actor,
    )


def _dead_event(row: Any, epoch_ns: int) -> Event:
    return Event(
        event="dead",
        actor="database",
        t_ns=row.created_us * US_TO_NS - epoch_ns,
        task=_task(row.payload),
        attempts=row.attempts,
        reason=row.reason,
    )


def _redrive_event(row: Any, epoch_ns: int) -> Event:
    return Event(event="redrive", actor="database", t_ns=row.handled_us * US_TO_NS - epoch_ns, task=_task(row.payload))

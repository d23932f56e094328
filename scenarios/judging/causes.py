"""Why an attempt was repeated: the causes that a history shows between one start of a task and the next (rule 6)."""

import enum
import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from scenarios.record.history import NS_PER_S, AttemptRecord, Event, FaultSpan, History


class Cause(enum.StrEnum):
    """Why a task was started again; the value is how JSON spells it. Earlier members win where several apply."""

    REDRIVE = "redrive"
    FAILED_BEFORE = "failed_before"
    CRASH = "crash"
    LEASE_RAN_OUT = "lease_ran_out"
    LOST_ACK = "lost_ack"
    FAULT = "broker_or_network_fault"
    UNEXPLAINED = "unexplained"


_BETWEEN_WORKER_AND_TASK = re.compile(
    r"broker|rabbit|amqp|kafka|redis|sentinel|network|partition|proxy|database|mysql|mariadb|postgres|sqlite"
    r"|\b(?:db|net|nats|sqs|link|connection|packet|ack|confirm)s?\b"
)


def cuts_worker_off(span: FaultSpan) -> bool:
    """Whether this fault is one on broker, network or database, by the words of its name and its target."""
    return _BETWEEN_WORKER_AND_TASK.search(f"{span.fault} {span.target}".lower().replace("_", " ")) is not None


def repeats(history: History) -> Iterator[tuple[AttemptRecord, AttemptRecord]]:
    """Every start of a task but its first, each with the start before it."""
    for timeline in history.tasks.values():
        if len(timeline.attempts) > 1:
            yield from pairwise(timeline.attempts)


def cause_of(history: History, former: AttemptRecord, latter: AttemptRecord) -> Cause:
    """Why `latter` followed `former`, the next start before it of the same task."""
    if latter.round > former.round:
        return Cause.REDRIVE
    if former.outcome == "fail" and _not_after(former.ended_ns, latter.started_ns):
        return Cause.FAILED_BEFORE
    if crashed_between(history, former, latter):
        return Cause.CRASH
    if lease_ran_out(history, former, latter):
        return Cause.LEASE_RAN_OUT
    if former.ack == "info":
        return Cause.LOST_ACK
    if former.ack != "ok" and any(
        span.overlaps(former.started_ns, latter.started_ns) and cuts_worker_off(span) for span in history.faults
    ):
        return Cause.FAULT
    return Cause.UNEXPLAINED


def crashed_between(history: History, former: AttemptRecord, latter: AttemptRecord) -> bool:
    """Whether the actor of `former` crashed after starting it and before `latter`, with something left to lose.

    That is: the attempt had not ended, or its acknowledgement is not known to have arrived (docs/adr/0003).
    """
    crashed_ns = first_crash_ns(history, former.actor, former.started_ns, latter.started_ns)
    if crashed_ns is None:
        return False
    return former.ended_ns is None or crashed_ns < former.ended_ns or former.ack != "ok"


def first_crash_ns(history: History, actor: str, from_ns: int, until_ns: int) -> int | None:
    """When this actor first died in this time, its bounds included; None: it did not."""
    crashes_ns = history.crashes_ns.get(actor, [])
    first = bisect_left(crashes_ns, from_ns)
    return crashes_ns[first] if first < len(crashes_ns) and crashes_ns[first] <= until_ns else None


def lease_ran_out(history: History, former: AttemptRecord, latter: AttemptRecord) -> bool:
    """Whether the lease of `former` on its task had run out when `latter` started.

    Or whether `latter` is itself the late start of a lease older than `former`, a zombie's, that had run out (docs/adr/0003).
    """
    leases = history.leases_on(former.task)
    if leases is None:
        return False
    lease = _hold_of(leases, former, latter.started_ns)
    if lease is None and history.records_states:
        lease = _given_up_in_vain(history, former, latter.started_ns)
    if lease is not None and expiry_ns(lease) <= latter.started_ns:
        return True
    own = _last_hold(leases, latter.actor, latter.started_ns)
    return (
        own is not None
        and own.t_ns < former.started_ns
        and former.actor != latter.actor
        and expiry_ns(own) <= latter.started_ns
    )


def _given_up_in_vain(history: History, attempt: AttemptRecord, until_ns: int) -> Event | None:
    """The hold of an attempt that said it gave it up, where the rows show that the task stayed held until it had run out.

    Its worker stood still, or was cut off, between the two.
    """
    leases = history.leases_on(attempt.task) or []
    kept = [event for event in leases if event.event != "lease.released"]
    lease = _hold_of(kept, attempt, until_ns)
    if lease is None:
        return None
    rows = history.tasks[attempt.task].states
    moved = any(row.from_ == "RUNNING" and attempt.started_ns <= row.t_ns <= expiry_ns(lease) for row in rows)
    return None if moved else lease


def expiry_ns(lease: Event) -> int:
    """When an acquired or renewed lease surely still ran until: counted from when it was asked for, where that is known."""
    since = lease.t_ns if lease.asked_ns is None else lease.asked_ns
    assert since is not None
    assert lease.ttl_s is not None
    return since + round(lease.ttl_s * NS_PER_S)


def _hold_of(leases: list[Event], attempt: AttemptRecord, until_ns: int) -> Event | None:
    """The last acquisition or renewal of the hold under which the attempt ran; None if it was released while it still ran.

    Its actor may hold the lease once more by then, for the next attempt: that is another hold.
    """
    acquired: Event | None = None
    for event in leases:
        if event.actor == attempt.actor and event.event == "lease.acquired" and event.t_ns <= attempt.started_ns:
            acquired = event
    if acquired is None:
        return _last_hold(leases, attempt.actor, until_ns)
    same = [event for event in leases if event.fence in (None, acquired.fence) and event.t_ns >= acquired.t_ns]
    return _last_hold(same, attempt.actor, until_ns)


def _last_hold(leases: list[Event], actor: str, until_ns: int) -> Event | None:
    """The actor's last acquisition or renewal of a lease up to `until_ns`, None if it released it while it still ran."""
    last: Event | None = None
    for event in leases:
        if event.t_ns > until_ns:
            break
        if event.actor != actor:
            continue
        if event.event != "lease.released":
            last = event
        elif last is not None and event.t_ns < expiry_ns(last):
            last = None  # a release after it had run out, by a zombie, undoes nothing
    return last


def _not_after(instant: int | None, until_ns: int) -> bool:
    return instant is not None and instant <= until_ns

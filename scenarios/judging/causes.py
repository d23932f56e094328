"""Why an attempt was repeated: the one cause of each repeat, worked out once for every judge that counts repeats (rules 6, 23, 27)."""

import enum
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from scenarios.judging.policy import ACK_S, Policy
from scenarios.record.history import (
    FOREVER_NS,
    AttemptRecord,
    Event,
    FaultSpan,
    History,
    TaskTimeline,
    earliest_ns,
    ns_of,
)
from scenarios.record.timeline import T_NS, ActorLeases


class Cause(enum.StrEnum):
    """Why a task was started again; the value is how JSON spells it. Earlier members win where several apply."""

    REDRIVE = "redrive"
    FAILED_BEFORE = "failed_before"
    CRASH = "crash"
    LEASE_RAN_OUT = "lease_ran_out"
    LOST_ACK = "lost_ack"
    FAULT = "broker_or_network_fault"
    OWNER_PAUSED = "owner_paused"
    UNEXPLAINED = "unexplained"


class Repeat(NamedTuple):
    """A start of a task except its first, with the start before it.

    `is_redelivery`: the same message came again, because its acknowledgement was lost or a fault stood in its way; it is no retry, so it
    does not use up an attempt (rule 27).
    """

    former: AttemptRecord
    latter: AttemptRecord
    cause: Cause
    is_redelivery: bool


_ON_THE_WAY = r"network|partition|proxy|database|mysql|mariadb|postgres|sqlite|redis|sentinel|valkey"
_BETWEEN_WORKER_AND_TASK = re.compile(
    rf"broker|rabbit|amqp|kafka|{_ON_THE_WAY}|\b(?:db|net|nats|sqs|link|connection|packet|ack|confirm)s?\b"
)
_BETWEEN_LIMITER_AND_COUNTERS = re.compile(rf"cache|memcache|{_ON_THE_WAY}|\b(?:db|net|link|connection|packet)s?\b")
_STANDS_STILL = re.compile(r"paus|froz|freez|suspend|sigstop|stopped")


def cuts_worker_off(span: FaultSpan) -> bool:
    """Whether this fault is one on broker, network or database: as its event states, else by the words of its name and its target."""
    if span.excuses is not None:
        return span.excuses == "disturbance"
    return _matches(_BETWEEN_WORKER_AND_TASK, _words(span))


def cuts_limiter_off(span: FaultSpan) -> bool:
    """Whether this fault is one on cache, database or network, by the words of its name and its target."""
    return _matches(_BETWEEN_LIMITER_AND_COUNTERS, _words(span))


@lru_cache(maxsize=1024)
def _matches(pattern: re.Pattern[str], words: str) -> bool:
    """Each name of a fault is asked for once for each repeat that it overlaps."""
    return pattern.search(words) is not None


def _words(span: FaultSpan) -> str:
    return f"{span.fault} {span.target}".lower().replace("_", " ")


def repeats_of(history: History, policy: Policy) -> Mapping[str, list[Repeat]]:
    """Every start of a task except its first, by task, in the order of time."""
    known = history.derived.get("repeats")
    if known is None or known[0] is not policy:
        found = {
            timeline.task: [_repeat(history, former, latter, policy) for former, latter in pairwise(timeline.attempts)]
            for timeline in history.tasks.values()
            if len(timeline.attempts) > 1
        }
        known = history.derived["repeats"] = (policy, found)
    repeats: Mapping[str, list[Repeat]] = known[1]
    return repeats


def _repeat(history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy) -> Repeat:
    cause = cause_of(history, former, latter, policy)
    is_redelivery = cause in (Cause.LOST_ACK, Cause.FAULT) or (
        cause is Cause.FAILED_BEFORE
        and not _is_numbered_as_a_retry(former, latter)
        and (_lost_ack(former, latter) or _fault_between(history, former, latter, policy))
    )
    return Repeat(former, latter, cause, is_redelivery)


def _is_numbered_as_a_retry(former: AttemptRecord, latter: AttemptRecord) -> bool:
    return former.number is not None and latter.number is not None and latter.number > former.number


def cause_of(history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy) -> Cause:
    """Why `latter` followed `former`, the next start before it of the same task."""
    if latter.round > former.round:
        return Cause.REDRIVE
    if former.outcome == "fail" and former.ended_ns is not None and former.ended_ns <= latter.started_ns:
        return Cause.FAILED_BEFORE
    if crashed_between(history, former, latter):
        return Cause.CRASH
    if lease_ran_out(history, former, latter):
        return Cause.LEASE_RAN_OUT
    if _lost_ack(former, latter):
        return Cause.LOST_ACK
    if _fault_between(history, former, latter, policy):
        return Cause.FAULT
    if owner_paused(history, former, latter):
        return Cause.OWNER_PAUSED
    return Cause.UNEXPLAINED


def _lost_ack(former: AttemptRecord, latter: AttemptRecord) -> bool:
    return former.ack_is_unsure and not former.acked_by(latter.started_ns)


def _fault_between(history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy) -> bool:
    """Whether a fault may have kept the acknowledgement of `former` from the broker: what was done long before was acknowledged."""
    if not history.faults or former.acked_by(latter.started_ns):
        return False
    until_ns = latter.started_ns
    if former.ended_ns is not None:
        until_ns = min(until_ns, former.ended_ns + ns_of(ACK_S if policy.ack_s is None else policy.ack_s))
    return any(
        span.overlaps(former.started_ns, until_ns) and not span.knows_its_messages and cuts_worker_off(span)
        for span in history.faults
    )


def owner_paused(history: History, former: AttemptRecord, latter: AttemptRecord) -> bool:
    """Whether the worker of `former` was seen to stand still while that ran, before `latter`, and no lease says otherwise."""
    ran_until_ns = latter.started_ns if former.ended_ns is None else min(former.ended_ns, latter.started_ns)
    if not stood_still(history, former.actor, former.started_ns, ran_until_ns):
        return False
    if not history.leases:
        return True
    holds = [_hold_of(leases, former, latter.started_ns) for leases in history.leases_of(former.task, former.actor)]
    return not any(hold is not None and expiry_ns(hold) > latter.started_ns for hold in holds)


def stood_still(history: History, actor: str, from_ns: int, until_ns: int) -> bool:
    """Whether this process was seen paused at any instant of this time."""
    return any(
        span.bit_ns is not None and span.bit_ns <= until_ns and span.healed_ns >= from_ns
        for span in pauses_of_process(history, actor)
    )


def pauses_of_process(history: History, actor: str) -> list[FaultSpan]:
    """The faults that made this process stand still."""
    return [span for span in history.faults if span.target == actor and _stops_process(span)]


def _stops_process(span: FaultSpan) -> bool:
    """Whether this fault stops a process: as its event states, else by the words of its name."""
    if span.excuses is not None:
        return span.excuses == "pause"
    return _matches(_STANDS_STILL, span.fault.lower())


def crashed_between(history: History, former: AttemptRecord, latter: AttemptRecord) -> bool:
    """Whether the actor of `former` crashed after starting it and before `latter`, with something left to lose.

    That is: the attempt had not ended, or its acknowledgement is not known to have arrived (docs/adr/0003).
    """
    crashed_ns = first_crash_ns(history, former.actor, former.started_ns, latter.started_ns)
    if crashed_ns is None:
        return False
    return former.ended_ns is None or crashed_ns < former.ended_ns or not former.acked_by(crashed_ns)


def first_crash_ns(history: History, actor: str, from_ns: int, until_ns: int) -> int | None:
    """The earliest instant at which this actor can first have died in this time, its bounds included; None: it did not."""
    crashes = history.crashes.get(actor, [])
    first = bisect_left(crashes, from_ns, key=lambda crash: crash.t_ns)
    if first < len(crashes) and earliest_ns(crashes[first]) <= until_ns:
        return max(from_ns, earliest_ns(crashes[first]))
    return None


def lease_ran_out(history: History, former: AttemptRecord, latter: AttemptRecord) -> bool:
    """Whether the lease of `former` on its task, its order key or its scope had run out when `latter` started.

    Or whether `latter` is itself the late start of a lease older than `former`, a zombie's, that had run out (docs/adr/0003).
    """
    if not history.leases:
        return False
    if any(_ran_out(history, leases, former, latter) for leases in history.leases_of(former.task, former.actor)):
        return True
    return former.actor != latter.actor and any(
        _is_start_of_zombie(leases, former, latter) for leases in history.leases_of(former.task, latter.actor)
    )


def _ran_out(history: History, leases: ActorLeases, former: AttemptRecord, latter: AttemptRecord) -> bool:
    lease = _hold_of(leases, former, latter.started_ns)
    if lease is None and history.records_states:
        lease = _given_up_in_vain(history, leases, former, latter.started_ns)
    return lease is not None and expiry_ns(lease) <= latter.started_ns and not former.acked_by(expiry_ns(lease) - 1)


def _is_start_of_zombie(leases: ActorLeases, former: AttemptRecord, latter: AttemptRecord) -> bool:
    own = _last_hold(leases, latter.started_ns)
    return own is not None and own.t_ns < former.started_ns and expiry_ns(own) <= latter.started_ns


def lease_end_ns(history: History, attempt: AttemptRecord, until_ns: int) -> int | None:
    """When the lease under which the attempt ran was to run out, as it was told until then; None where none was, or it was released."""
    if not history.leases:
        return None
    holds = [_hold_of(leases, attempt, until_ns) for leases in history.leases_of(attempt.task, attempt.actor)]
    ends_ns = [expiry_ns(hold) for hold in holds if hold is not None]
    return max(ends_ns) if ends_ns else None


def reports_too_late(history: History, timeline: TaskTimeline, attempt: AttemptRecord, policy: Policy) -> bool:
    """Whether this success decides nothing: its task was buried already, and its lease had run out. A zombie reports late.

    Where no lease is told, a worker that was seen to stand still, or the policy's `lease_s`, says as much.
    """
    ended_ns = attempt.ended_ns
    if attempt.outcome != "ok" or ended_ns is None or timeline.buried_ns > ended_ns:
        return False
    end_ns = lease_end_ns(history, attempt, ended_ns)
    if end_ns is not None:
        return end_ns <= ended_ns
    if history.leases_on(attempt.task):
        return False
    if stood_still(history, attempt.actor, attempt.started_ns, ended_ns):
        return True
    return policy.lease_s is not None and attempt.started_ns + ns_of(policy.lease_s) <= ended_ns


def is_done(history: History, timeline: TaskTimeline, policy: Policy) -> bool:
    """Listed as done, or an attempt ended ok that decides; where the history records no end of any attempt, an accepted effect."""
    if timeline.task in history.lists.done or (not history.records_ends and timeline.effects):
        return True
    return succeeded(history, timeline, policy)


def succeeded(history: History, timeline: TaskTimeline, policy: Policy) -> bool:
    """Whether an attempt of it ended ok, other than by the late report of a zombie."""
    if not timeline.succeeded or not (timeline.deads or timeline.states):
        return timeline.succeeded
    oks = [attempt for attempt in timeline.attempts if attempt.outcome == "ok"]
    return not oks or not all(reports_too_late(history, timeline, attempt, policy) for attempt in oks)


def _given_up_in_vain(history: History, leases: ActorLeases, attempt: AttemptRecord, until_ns: int) -> Event | None:
    """The hold of an attempt that said it gave it up, where the rows show that the task stayed held until it had run out.

    Its worker stood still, or was cut off, between the two.
    """
    lease = _hold_of(leases, attempt, until_ns, with_releases=False)
    if lease is None:
        return None
    rows = history.tasks[attempt.task].states
    first = bisect_left(rows, attempt.started_ns, key=T_NS)
    moved = any(row.from_ == "RUNNING" for row in rows[first : bisect_right(rows, expiry_ns(lease), key=T_NS)])
    return None if moved else lease


def expiry_ns(lease: Event) -> int:
    """When an acquired or renewed lease surely still ran until: counted from when it was asked for, where that is known."""
    since = lease.t_ns if lease.asked_ns is None else lease.asked_ns
    assert since is not None
    assert lease.ttl_s is not None
    return since + ns_of(lease.ttl_s)


def _hold_of(leases: ActorLeases, attempt: AttemptRecord, until_ns: int, *, with_releases: bool = True) -> Event | None:
    """The last acquisition or renewal of the hold under which the attempt ran; None if it was released while it still ran.

    Its actor may hold the lease once more by then, for the next attempt: that is another hold.
    """
    acquired = bisect_right(leases.acquired, attempt.started_ns, key=T_NS)
    if not acquired:
        return _last_hold(leases, until_ns, with_releases=with_releases)
    return _last_hold(leases, until_ns, since=leases.acquired[acquired - 1], with_releases=with_releases)


def _last_hold(
    leases: ActorLeases, until_ns: int, *, since: Event | None = None, with_releases: bool = True
) -> Event | None:
    """The actor's last acquisition or renewal up to `until_ns`, None if it released it while it still ran.

    `since`: only events from this acquisition on, under its fence or none.
    """
    released_ns = FOREVER_NS
    for place in range(bisect_right(leases.events, until_ns, key=T_NS) - 1, -1, -1):
        event = leases.events[place]
        if since is not None and event.t_ns < since.t_ns:
            return None
        if since is not None and event.fence not in (None, since.fence):
            continue
        if event.event != "lease.released":
            # A release after it had run out, by a zombie, undoes nothing.
            return None if released_ns < expiry_ns(event) else event
        if with_releases:
            released_ns = event.t_ns
    return None

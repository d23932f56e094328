"""Why an attempt was repeated: one cause for each repeat, derived once for all checkers that count repeats (rules 6, 23, 27)."""

import enum
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

from scenarios.judging.policy import ACK_S, Policy
from scenarios.record.history import (
    FOREVER_NS,
    AttemptRecord,
    Event,
    FaultSpan,
    History,
    earliest_ns,
    ns_of,
)
from scenarios.record.timeline import T_NS, ActorLeases, TaskTimeline


class Cause(enum.StrEnum):
    """Why a task was started again; the value is the name in JSON. If several apply, the earliest member wins."""

    REDRIVE = "redrive"
    FAILED_BEFORE = "failed_before"
    CRASH = "crash"
    LEASE_RAN_OUT = "lease_ran_out"
    LOST_ACK = "lost_ack"
    FAULT = "broker_or_network_fault"
    OWNER_PAUSED = "owner_paused"
    UNEXPLAINED = "unexplained"


class Repeat(NamedTuple):
    """A start of a task except its first, with the start that caused it; where no cause is known, the start before it.

    `is_redelivery`: the same message was delivered again, because its acknowledgement was lost or held up by a fault. This is not a
    retry and does not use up an attempt (rule 27).
    """

    former: AttemptRecord
    latter: AttemptRecord
    cause: Cause
    is_redelivery: bool


_REDELIVERIES = frozenset({Cause.LOST_ACK, Cause.FAULT})
_NETWORK_OR_STORE = r"network|partition|proxy|database|mysql|mariadb|postgres|sqlite|redis|sentinel|valkey"
_BETWEEN_WORKER_AND_TASK = re.compile(
    rf"broker|rabbit|amqp|kafka|{_NETWORK_OR_STORE}|\b(?:db|net|nats|sqs|link|connection|packet|ack|confirm)s?\b"
)
_BETWEEN_LIMITER_AND_COUNTERS = re.compile(
    rf"cache|memcache|{_NETWORK_OR_STORE}|\b(?:db|net|link|connection|packet)s?\b"
)
_PAUSE_WORDS = re.compile(r"paus|froz|freez|suspend|sigstop|stopped")


def cuts_worker_off(span: FaultSpan) -> bool:
    """Whether this fault affects broker, network or database: as its event states, else by the words of its name and target."""
    if span.excuses is not None:
        return span.excuses == "disturbance"
    return _matches(_BETWEEN_WORKER_AND_TASK, _words(span))


def cuts_limiter_off(span: FaultSpan) -> bool:
    """Whether this fault affects cache, database or network, by the words of its name and target."""
    return _matches(_BETWEEN_LIMITER_AND_COUNTERS, _words(span))


@lru_cache(maxsize=1024)
def _matches(pattern: re.Pattern[str], words: str) -> bool:
    """Cached, because every repeat that a fault overlaps asks for the same name."""
    return pattern.search(words) is not None


def _words(span: FaultSpan) -> str:
    return f"{span.fault} {span.target}".lower().replace("_", " ")


LOOK_BACK = 20
"""How many attempts before it may have caused a start. Two chains of attempts alternate; a longer search only costs time."""


def repeats_of(history: History, policy: Policy) -> Mapping[str, list[Repeat]]:
    """Every start of a task except its first, by task, in order of time."""
    known = history.derived.get("repeats")
    if known is None or known[0] is not policy:
        found = {
            timeline.task: _repeats(history, timeline, policy)
            for timeline in history.tasks.values()
            if len(timeline.attempts) > 1
        }
        known = history.derived["repeats"] = (policy, found)
    repeats: Mapping[str, list[Repeat]] = known[1]
    return repeats


def _repeats(history: History, timeline: TaskTimeline, policy: Policy) -> list[Repeat]:
    """Each start with its cause, which lies in the attempt before it, or else in an earlier one.

    A retry that was sent before its message was acknowledged runs beside the redelivery of that message: the task has two chains of
    attempts, whose starts alternate. An attempt causes one retry and one redelivery at most. So does a delivery whose connection was
    cut before it was started: its worker, which has the message in hand, and the next receiver both run it, in any order.
    """
    attempts = timeline.attempts
    interrupted = list(timeline.interrupted)
    used: set[tuple[int, bool]] = set()
    repeats: list[Repeat] = []
    for place in range(1, len(attempts)):
        repeat = _repeat(history, attempts[place - 1], attempts[place], policy)
        if repeat.cause is Cause.UNEXPLAINED:
            repeat = (
                _of_another_chain(history, attempts[max(0, place - LOOK_BACK) : place], attempts[place], policy, used)
                or repeat
            )
        if repeat.cause is Cause.UNEXPLAINED and _take_interrupted(interrupted, repeat.latter):
            repeat = repeat._replace(cause=Cause.LOST_ACK, is_redelivery=True)
        used.add(_use_of(repeat))
        repeats.append(repeat)
    return repeats


def _take_interrupted(interrupted: list[Event], latter: AttemptRecord) -> bool:
    """Whether a delivery of this attempt was cut off before its start; each counts once."""
    for place, event in enumerate(interrupted):
        if event.t_ns <= latter.started_ns and (event.attempt is None or event.attempt == latter.number):
            del interrupted[place]
            return True
    return False


def _of_another_chain(
    history: History,
    earlier: Sequence[AttemptRecord],
    latter: AttemptRecord,
    policy: Policy,
    used: Set[tuple[int, bool]],
) -> Repeat | None:
    """The repeat as that of an earlier attempt than the last one, which has not caused it otherwise."""
    for former in reversed(earlier[:-1]):
        if former.round != latter.round or _was_settled(history, former, latter, policy):
            continue
        for cause in _causes_of(history, former, latter, policy):
            repeat = Repeat(former, latter, cause, cause in _REDELIVERIES)
            if _use_of(repeat) not in used:
                return repeat
    return None


def _was_settled(history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy) -> bool:
    """Whether the attempt had ended well, and its worker outlived by far the time in which an acknowledgement arrives."""
    if former.outcome != "ok" or former.ended_ns is None:
        return False
    settled_ns = former.ended_ns + _ack_ns(policy)
    return (
        settled_ns < latter.started_ns and first_crash_ns(history, former.actor, former.started_ns, settled_ns) is None
    )


def _ack_ns(policy: Policy) -> int:
    return ns_of(ACK_S if policy.ack_s is None else policy.ack_s)


def _use_of(repeat: Repeat) -> tuple[int, bool]:
    """What a repeat uses up: the retry, or the redelivery, of one attempt."""
    return id(repeat.former), repeat.cause is Cause.FAILED_BEFORE


def _repeat(history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy) -> Repeat:
    cause = cause_of(history, former, latter, policy)
    is_redelivery = cause in _REDELIVERIES or (
        cause is Cause.FAILED_BEFORE
        and not _is_numbered_as_a_retry(former, latter)
        and (_lost_ack(former, latter) or _fault_between(history, former, latter, policy))
    )
    return Repeat(former, latter, cause, is_redelivery)


def _is_numbered_as_a_retry(former: AttemptRecord, latter: AttemptRecord) -> bool:
    return former.number is not None and latter.number is not None and latter.number > former.number


def cause_of(history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy) -> Cause:
    """Why `latter` followed `former`, an earlier start of the same task."""
    return next(_causes_of(history, former, latter, policy), Cause.UNEXPLAINED)


def _causes_of(history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy) -> Iterator[Cause]:
    """Every cause that applies."""
    if latter.round > former.round:
        yield Cause.REDRIVE
    if former.outcome == "fail" and former.ended_ns is not None and former.ended_ns <= latter.started_ns:
        yield Cause.FAILED_BEFORE
    if crashed_between(history, former, latter):
        yield Cause.CRASH
    if lease_expired(history, former, latter):
        yield Cause.LEASE_RAN_OUT
    if _lost_ack(former, latter):
        yield Cause.LOST_ACK
    if _fault_between(history, former, latter, policy):
        yield Cause.FAULT
    if owner_paused(history, former, latter) or _other_paused(history, former, latter, policy):
        yield Cause.OWNER_PAUSED


def _lost_ack(former: AttemptRecord, latter: AttemptRecord) -> bool:
    return former.ack_is_unsure and not former.acked_by(latter.started_ns)


def _fault_between(history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy) -> bool:
    """Whether a fault, up to `ack_s` after its end, may have kept the acknowledgement of `former` from the broker."""
    if not history.faults or former.acked_by(latter.started_ns):
        return False
    until_ns = latter.started_ns
    if former.ended_ns is not None:
        until_ns = min(until_ns, former.ended_ns + _ack_ns(policy))
    return any(
        span.overlaps(former.started_ns, until_ns) and not span.knows_its_messages and cuts_worker_off(span)
        for span in history.faults
    )


def _other_paused(history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy) -> bool:
    """Whether the worker of `latter` was paused with the message in hand, and ran it soon after, although it had been delivered again.

    `former` is the run of that redelivery: it began after the pause had, on another worker, and no lease of it was still valid.
    """
    if former.actor == latter.actor or _holds_validly(history, former, latter.started_ns):
        return False
    return any(
        span.bit_ns is not None
        and span.bit_ns <= former.started_ns
        and span.healed_ns <= latter.started_ns <= span.healed_ns + _ack_ns(policy)
        for span in pauses_of_process(history, latter.actor)
    )


def owner_paused(history: History, former: AttemptRecord, latter: AttemptRecord) -> bool:
    """Whether the worker of `former` was paused during that attempt, before `latter`, and no lease of it was still valid."""
    ran_until_ns = latter.started_ns if former.ended_ns is None else min(former.ended_ns, latter.started_ns)
    return was_paused(history, former.actor, former.started_ns, ran_until_ns) and not _holds_validly(
        history, former, latter.started_ns
    )


def _holds_validly(history: History, attempt: AttemptRecord, until_ns: int) -> bool:
    """Whether a recorded lease of this attempt is still valid then."""
    if not history.leases:
        return False
    holds = [_hold_of(leases, attempt, until_ns) for leases in history.leases_of(attempt.task, attempt.actor)]
    return any(hold is not None and expiry_ns(hold) > until_ns for hold in holds)


def was_paused(history: History, actor: str, from_ns: int, until_ns: int) -> bool:
    """Whether this process was seen paused at any instant of this time, bounds included."""
    return any(
        span.bit_ns is not None and span.bit_ns <= until_ns and span.healed_ns >= from_ns
        for span in pauses_of_process(history, actor)
    )


def pauses_of_process(history: History, actor: str) -> list[FaultSpan]:
    """The faults that paused this process."""
    return [span for span in history.faults if span.target == actor and _pauses_process(span)]


def _pauses_process(span: FaultSpan) -> bool:
    """Whether this fault pauses a process: as its event states, else by the words of its name."""
    if span.excuses is not None:
        return span.excuses == "pause"
    return _matches(_PAUSE_WORDS, span.fault.lower())


def crashed_between(history: History, former: AttemptRecord, latter: AttemptRecord) -> bool:
    """Whether the actor of `former` crashed between the two starts, before the attempt had ended or its acknowledgement had arrived.

    An acknowledgement counts only if it is known to have arrived (docs/adr/0003).
    """
    crashed_ns = first_crash_ns(history, former.actor, former.started_ns, latter.started_ns)
    if crashed_ns is None:
        return False
    return former.ended_ns is None or crashed_ns < former.ended_ns or not former.acked_by(crashed_ns)


def first_crash_ns(history: History, actor: str, from_ns: int, until_ns: int) -> int | None:
    """The earliest possible instant of the actor's first crash in this time, bounds included; None: no crash."""
    crashes = history.crashes.get(actor, [])
    first = bisect_left(crashes, from_ns, key=lambda crash: crash.t_ns)
    if first < len(crashes) and earliest_ns(crashes[first]) <= until_ns:
        return max(from_ns, earliest_ns(crashes[first]))
    return None


def lease_expired(history: History, former: AttemptRecord, latter: AttemptRecord) -> bool:
    """Whether the lease of `former` on its task, its order key or its scope had expired when `latter` started.

    Also true if `latter` was started by a zombie whose own, older lease had already expired (docs/adr/0003).
    """
    if not history.leases:
        return False
    if any(_expired(history, leases, former, latter) for leases in history.leases_of(former.task, former.actor)):
        return True
    return former.actor != latter.actor and any(
        _is_start_of_zombie(leases, former, latter) for leases in history.leases_of(former.task, latter.actor)
    )


def _expired(history: History, leases: ActorLeases, former: AttemptRecord, latter: AttemptRecord) -> bool:
    lease = _hold_of(leases, former, latter.started_ns)
    if lease is None and history.records_states:
        lease = _released_without_effect(history, leases, former, latter.started_ns)
    return lease is not None and expiry_ns(lease) <= latter.started_ns and not former.acked_by(expiry_ns(lease) - 1)


def _is_start_of_zombie(leases: ActorLeases, former: AttemptRecord, latter: AttemptRecord) -> bool:
    own = _last_hold(leases, latter.started_ns)
    return own is not None and own.t_ns < former.started_ns and expiry_ns(own) <= latter.started_ns


def lease_end_ns(history: History, attempt: AttemptRecord, until_ns: int) -> int | None:
    """When the attempt's lease expires, as recorded up to `until_ns`; None if there was no lease, or it was released."""
    if not history.leases:
        return None
    holds = [_hold_of(leases, attempt, until_ns) for leases in history.leases_of(attempt.task, attempt.actor)]
    ends_ns = [expiry_ns(hold) for hold in holds if hold is not None]
    return max(ends_ns) if ends_ns else None


def _released_without_effect(
    history: History, leases: ActorLeases, attempt: AttemptRecord, until_ns: int
) -> Event | None:
    """The hold of an attempt that reported a release, if the rows show that the task stayed held until the lease expired.

    Its worker crashed, was paused or was cut off between the report and the release: else it gives tasks up without releasing them.
    """
    lease = _hold_of(leases, attempt, until_ns, with_releases=False)
    if lease is None:
        return None
    rows = history.tasks[attempt.task].states
    first = bisect_left(rows, attempt.started_ns, key=T_NS)
    changed = any(row.from_ == "RUNNING" for row in rows[first : bisect_right(rows, expiry_ns(lease), key=T_NS)])
    return None if changed or not _was_disturbed(history, attempt, expiry_ns(lease)) else lease


def _was_disturbed(history: History, attempt: AttemptRecord, until_ns: int) -> bool:
    """Whether its worker crashed, was struck or was cut off between its end (or its start, if it has none) and this instant."""
    since_ns = attempt.started_ns if attempt.ended_ns is None else attempt.ended_ns
    return first_crash_ns(history, attempt.actor, since_ns, until_ns) is not None or any(
        span.overlaps(since_ns, until_ns) and (span.target == attempt.actor or cuts_worker_off(span))
        for span in history.faults
    )


def expiry_ns(lease: Event) -> int:
    """Until when an acquired or renewed lease is surely valid: counted from when it was asked for, if that is known."""
    since = lease.t_ns if lease.asked_ns is None else lease.asked_ns
    assert since is not None
    assert lease.ttl_s is not None
    return since + ns_of(lease.ttl_s)


def _hold_of(leases: ActorLeases, attempt: AttemptRecord, until_ns: int, *, with_releases: bool = True) -> Event | None:
    """The last acquisition or renewal of the hold under which the attempt ran; None if it was released before it expired.

    The actor may have acquired the lease again for the next attempt: that is another hold.
    """
    acquired = bisect_right(leases.acquired, attempt.started_ns, key=T_NS)
    if not acquired:
        return _last_hold(leases, until_ns, with_releases=with_releases)
    return _last_hold(leases, until_ns, since=leases.acquired[acquired - 1], with_releases=with_releases)


def _last_hold(
    leases: ActorLeases, until_ns: int, *, since: Event | None = None, with_releases: bool = True
) -> Event | None:
    """The actor's last acquisition or renewal of a lease up to `until_ns`; None if it released the lease before it expired.

    `since`: only events from this acquisition on, with its fence or without a fence.
    """
    released_ns = FOREVER_NS
    for place in range(bisect_right(leases.events, until_ns, key=T_NS) - 1, -1, -1):
        event = leases.events[place]
        if since is not None and event.t_ns < since.t_ns:
            return None
        if since is not None and event.fence not in (None, since.fence):
            continue
        if event.event != "lease.released":
            # A zombie's release after the expiry has no effect.
            return None if released_ns < expiry_ns(event) else event
        if with_releases:
            released_ns = event.t_ns
    return None

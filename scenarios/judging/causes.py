"""Why an attempt was repeated: one cause for each repeat, derived once for all checkers that count repeats (rules 6, 23, 27)."""

import enum
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from scenarios.judging.disturbances import cuts_worker_off, first_crash, first_crash_ns, pauses_of_process, was_paused
from scenarios.judging.leases import holds_validly, lease_expired
from scenarios.judging.policy import ACK_S, Policy
from scenarios.record.history import AttemptRecord, Event, History, earliest_ns, ns_of
from scenarios.record.timeline import TaskTimeline


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
    given_back_ns: list[int] = []
    for place in range(1, len(attempts)):
        repeat = _repeat(history, attempts[place - 1], attempts[place], policy, given_back_ns)
        if repeat.cause is Cause.UNEXPLAINED:
            repeat = (
                _of_another_chain(
                    history, attempts[max(0, place - LOOK_BACK) : place], attempts[place], policy, used, given_back_ns
                )
                or repeat
            )
        if repeat.cause is Cause.UNEXPLAINED and _take_interrupted(interrupted, repeat.latter):
            repeat = repeat._replace(cause=Cause.LOST_ACK, is_redelivery=True)
        used.add(_use_of(repeat))
        if repeat.cause is Cause.LEASE_RAN_OUT:
            given_back_ns.append(repeat.latter.started_ns)
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
    given_back_ns: Sequence[int],
) -> Repeat | None:
    """The repeat as that of an earlier attempt than the last one, which has not caused it otherwise."""
    for former in reversed(earlier[:-1]):
        if former.round != latter.round or _was_settled(history, former, latter, policy):
            continue
        for cause in _causes_of(history, former, latter, policy, given_back_ns):
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


def _repeat(
    history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy, given_back_ns: Sequence[int]
) -> Repeat:
    cause = next(_causes_of(history, former, latter, policy, given_back_ns), Cause.UNEXPLAINED)
    is_redelivery = cause in _REDELIVERIES or (
        cause is Cause.FAILED_BEFORE
        and not _is_numbered_as_a_retry(former, latter)
        and (_lost_ack(former, latter) or _fault_between(history, former, latter, policy))
    )
    return Repeat(former, latter, cause, is_redelivery)


def _is_numbered_as_a_retry(former: AttemptRecord, latter: AttemptRecord) -> bool:
    return former.number is not None and latter.number is not None and latter.number > former.number


def _causes_of(
    history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy, given_back_ns: Sequence[int]
) -> Iterator[Cause]:
    """Every cause that applies. `given_back_ns`: the starts of this task that an expired lease caused before."""
    if latter.round > former.round:
        yield Cause.REDRIVE
    if former.outcome == "fail" and former.ended_ns is not None and former.ended_ns <= latter.started_ns:
        yield Cause.FAILED_BEFORE
    if crashed_between(history, former, latter):
        yield Cause.CRASH
    if lease_expired(history, former, latter, policy, given_back_ns):
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
    if former.actor == latter.actor or holds_validly(history, former, latter.started_ns):
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
    return was_paused(history, former.actor, former.started_ns, ran_until_ns) and not holds_validly(
        history, former, latter.started_ns
    )


def crashed_between(history: History, former: AttemptRecord, latter: AttemptRecord) -> bool:
    """Whether the actor of `former` crashed between the two starts, before the attempt had ended or its acknowledgement had arrived.

    An acknowledgement counts only if it is known to have arrived (docs/adr/0003). A process that ended by itself, as it was told to, had
    the time to acknowledge what had ended.
    """
    crash = first_crash(history, former.actor, former.started_ns, latter.started_ns)
    if crash is None:
        return False
    if crash.clean:
        return former.ended_ns is None
    crashed_ns = max(former.started_ns, earliest_ns(crash))
    return former.ended_ns is None or crashed_ns < former.ended_ns or not former.acked_by(crashed_ns)

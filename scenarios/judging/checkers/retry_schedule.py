"""Attempts and the delays between them stay within the policy (rules 9, 18 and 27).

From `attempt.fail` n (transient, or permanent if `permanent_errors` leaves that out) to the next `attempt.start`: within
`delays_s[n-1]`, widened by `tolerance_s`; a retry that is due and never comes is late, too. No start after a permanent failure.
At most `attempts_max` starts that no crash, lease expiry, lost acknowledgement, fault or redrive explains. A redrive begins a
new count. A retry held up by a fault, a pause or the crash of a worker may come up to `budget_s` after the end of the fault or
pause, or after the crash. A failure that its worker may have been unable to report (it crashed, was paused or lost its lease
before the next start) begins no delay and forbids no start (docs/adr/0003). Limits that the policy does not state are not
judged.
"""

from bisect import bisect_left
from collections.abc import Sequence

from scenarios.judging.causes import Cause, Repeat, repeats_of
from scenarios.judging.endings import may_be_unreported
from scenarios.judging.lateness import AllowedDelays, closed_ns, crashes_ns
from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import latest_retry_ns, numbers_in_rounds
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import NS_PER_S, AttemptRecord, History, TaskTimeline, ns_of
from scenarios.record.timeline import STARTED_NS

_COUNTED = (Cause.FAILED_BEFORE, Cause.UNEXPLAINED)


def check(history: History, policy: Policy) -> Findings:
    """Tasks retried too soon, too late, never, too often or after a permanent failure."""
    repeats = repeats_of(history, policy)
    allowed = AllowedDelays(history, policy, crashes_ns(history))
    violations: list[Violation] = []
    exercised = 0
    for timeline in history.tasks.values():
        failures = [attempt for attempt in timeline.attempts if attempt.outcome == "fail"]
        violations.extend(_never(history, allowed, timeline, failures, policy))
        own = repeats.get(timeline.task, ())
        if not own:
            continue
        exercised += bool(failures)
        violations.extend(_delays(history, allowed, timeline, failures, own, policy))
        violations.extend(_after_permanent_failure(history, timeline, failures, policy))
        violations.extend(_too_many(timeline, own, policy))
    undecided = ""
    if exercised and policy.delays_s is None and policy.attempts_max is None:
        undecided = "tasks were retried, but the policy states neither delays_s nor attempts_max"
    return Findings(
        tuple(violations),
        exercised=exercised,
        undecided=undecided,
        figures={"retried": exercised, "off_schedule": len(violations)},
    )


def _delays(
    history: History,
    allowed: AllowedDelays,
    timeline: TaskTimeline,
    failures: list[AttemptRecord],
    repeats: Sequence[Repeat],
    policy: Policy,
) -> list[Violation]:
    if policy.delays_s is None:
        return []
    tolerance_s = policy.tolerance_s or 0.0
    numbers = numbers_in_rounds(timeline) if failures else {}
    redelivered = {id(repeat.latter) for repeat in repeats if repeat.is_redelivery}
    violations = []
    for failure in failures:
        if not policy.is_retried(failure.error):
            continue
        number = numbers[id(failure)]
        retry = _next_start(timeline, failure)
        if retry is None or not 1 <= number <= len(policy.delays_s):
            continue
        assert failure.ended_ns is not None
        least_s, most_s = policy.delays_s[number - 1]
        waited_ns = retry.started_ns - failure.ended_ns
        latest_ns = failure.ended_ns + ns_of(most_s + tolerance_s)
        if waited_ns < ns_of(least_s - tolerance_s):
            if id(retry) not in redelivered and not may_be_unreported(history, timeline, failure, policy):
                what = f"retried {waited_ns / NS_PER_S:.3g} s after failure {number}, before {least_s:g} s"
                violations.append(Violation(timeline.task, Proof.EVENTS, what))
        elif retry.started_ns > latest_ns and retry.started_ns > allowed.extended_ns(
            timeline, latest_ns, failure.ended_ns, retry.started_ns
        ):
            what = f"retried {waited_ns / NS_PER_S:.3g} s after failure {number}, after {most_s:g} s"
            violations.append(Violation(timeline.task, Proof.EVENTS, what))
    return violations


def _never(
    history: History, allowed: AllowedDelays, timeline: TaskTimeline, failures: list[AttemptRecord], policy: Policy
) -> list[Violation]:
    """A retry that is due and never comes, unless the task ended otherwise in time."""
    last = failures[-1] if failures else None
    if last is None or last is not timeline.attempts[-1] or last.round < len(timeline.redrives_ns):
        return []
    retry_ns = latest_retry_ns(timeline, last, policy)
    if retry_ns is None or timeline.succeeded or timeline.task in history.lists.done:
        return []
    assert last.ended_ns is not None
    end_ns = history.end_ns
    latest_ns = retry_ns + ns_of(policy.tolerance_s or 0.0)
    if end_ns <= latest_ns:
        return []
    latest_ns = allowed.extended_ns(timeline, latest_ns, last.ended_ns, end_ns)
    if end_ns <= latest_ns or closed_ns(history, timeline) <= latest_ns:
        return []
    what = f"not retried {(end_ns - last.ended_ns) / NS_PER_S:.3g} s after its last failure"
    return [Violation(timeline.task, Proof.RECORD, what)]


def _next_start(timeline: TaskTimeline, failure: AttemptRecord) -> AttemptRecord | None:
    """The next start of the task; None if there is none, if a redrive caused it, or if another attempt had already replaced this one."""
    assert failure.ended_ns is not None
    first = bisect_left(timeline.attempts, failure.started_ns, key=STARTED_NS)
    following = next((one for one in timeline.attempts[first : first + 2] if one is not failure), None)
    if following is None or following.started_ns < failure.ended_ns or following.round != failure.round:
        return None
    return following


def _after_permanent_failure(
    history: History, timeline: TaskTimeline, failures: list[AttemptRecord], policy: Policy
) -> list[Violation]:
    for failure in failures:
        if not policy.is_permanent(failure.error) or may_be_unreported(history, timeline, failure, policy):
            continue
        assert failure.ended_ns is not None
        following = timeline.first_start_after(failure.ended_ns)
        if following is not None and following.round == failure.round:
            return [Violation(timeline.task, Proof.EVENTS, "started again after a permanent failure")]
    return []


def _too_many(timeline: TaskTimeline, repeats: Sequence[Repeat], policy: Policy) -> list[Violation]:
    if policy.attempts_max is None or len(timeline.attempts) <= policy.attempts_max:
        return []
    counts: dict[int, int] = {timeline.attempts[0].round: 1}
    for repeat in repeats:
        if repeat.cause is Cause.REDRIVE:
            counts[repeat.latter.round] = 1
        elif repeat.cause in _COUNTED and not repeat.is_redelivery:
            counts[repeat.latter.round] += 1
    most = max(counts.values())
    if most <= policy.attempts_max:
        return []
    what = f"{most} starts that no crash, lease expiry, lost acknowledgement, fault or redrive explains"
    return [Violation(timeline.task, Proof.RECORD, f"{what}; the policy allows {policy.attempts_max}")]

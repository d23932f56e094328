"""Attempts and the delays between them stay within the policy (rule 9).

From `attempt.fail` n (transient) to the next `attempt.start`: within `delays_s[n-1]`, widened by `tolerance_s`. No start after a
permanent failure. At most `attempts_max` starts that no crash, lease expiry or redrive explains. A redrive begins a new count. A
retry that a fault held up may be late until the fault healed and `budget_s` passed (docs/adr/0003). What the policy does not state
is not judged.
"""

from itertools import pairwise

from scenarios.judging.causes import crashed_between, lease_ran_out
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import NS_PER_S, AttemptRecord, History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks tried again too soon, too late, too often or in vain."""
    violations: list[Violation] = []
    exercised = 0
    for timeline in history.tasks.values():
        if len(timeline.attempts) < 2:
            continue
        exercised += any(attempt.outcome == "fail" for attempt in timeline.attempts)
        found = [*_delays(history, timeline, policy), *_in_vain(timeline), *_too_many(history, timeline, policy)]
        violations.extend(found)
    undecided = ""
    if exercised and policy.delays_s is None and policy.attempts_max is None:
        undecided = "tasks were retried, and the policy states neither delays_s nor attempts_max"
    return Findings(
        tuple(violations),
        exercised=exercised,
        undecided=undecided,
        figures={"retried": exercised, "off_schedule": len(violations)},
    )


def _delays(history: History, timeline: TaskTimeline, policy: Policy) -> list[Violation]:
    if policy.delays_s is None:
        return []
    tolerance_s = policy.tolerance_s or 0.0
    violations = []
    for failure in timeline.attempts:
        if failure.outcome != "fail" or failure.error != "transient":
            continue
        number = _number_in_round(timeline, failure)
        retry_ns = _next_start_ns(timeline, failure)
        if retry_ns is None or not 1 <= number <= len(policy.delays_s):
            continue
        assert failure.ended_ns is not None
        least_s, most_s = policy.delays_s[number - 1]
        waited_ns = retry_ns - failure.ended_ns
        if waited_ns < round((least_s - tolerance_s) * NS_PER_S):
            what = f"retried {waited_ns / NS_PER_S:.3g} s after failure {number}, before {least_s:g} s"
            violations.append(Violation(timeline.task, Proof.EVENTS, what))
        elif retry_ns > _latest_ns(history, policy, failure.ended_ns, retry_ns, most_s + tolerance_s):
            what = f"retried {waited_ns / NS_PER_S:.3g} s after failure {number}, after {most_s:g} s"
            violations.append(Violation(timeline.task, Proof.EVENTS, what))
    return violations


def _latest_ns(history: History, policy: Policy, failed_ns: int, retry_ns: int, most_s: float) -> int:
    latest_ns = failed_ns + round(most_s * NS_PER_S)
    budget_ns = round((policy.budget_s or 0.0) * NS_PER_S)
    for span in history.faults:
        if span.overlaps(failed_ns, retry_ns):
            latest_ns = max(latest_ns, span.healed_ns + budget_ns)
    return latest_ns


def _next_start_ns(timeline: TaskTimeline, failure: AttemptRecord) -> int | None:
    """When the task was started next; None where never, by a person, or where another attempt had already replaced this one."""
    assert failure.ended_ns is not None
    for attempt in timeline.attempts:
        if attempt is failure or attempt.started_ns < failure.started_ns:
            continue
        if attempt.started_ns < failure.ended_ns or attempt.round != failure.round:
            return None
        return attempt.started_ns
    return None


def _number_in_round(timeline: TaskTimeline, failure: AttemptRecord) -> int:
    """Its number, counted from 1 since the last redrive: by what the system said where it said anything, else by its order."""
    if failure.number is not None:
        earlier = [one.number for one in timeline.attempts if one.round < failure.round and one.number is not None]
        base = max(earlier, default=0)
        return failure.number - base if failure.number > base else failure.number
    same_round = [attempt for attempt in timeline.attempts if attempt.round == failure.round]
    return next(place for place, attempt in enumerate(same_round, start=1) if attempt is failure)


def _in_vain(timeline: TaskTimeline) -> list[Violation]:
    for failure in timeline.attempts:
        if failure.outcome != "fail" or failure.error != "permanent":
            continue
        assert failure.ended_ns is not None
        if any(other.started_ns > failure.ended_ns and other.round == failure.round for other in timeline.attempts):
            return [Violation(timeline.task, Proof.EVENTS, "started again after a permanent failure")]
    return []


def _too_many(history: History, timeline: TaskTimeline, policy: Policy) -> list[Violation]:
    if policy.attempts_max is None or len(timeline.attempts) <= policy.attempts_max:
        return []
    counts: dict[int, int] = {timeline.attempts[0].round: 1}
    for former, latter in pairwise(timeline.attempts):
        if latter.round > former.round:
            counts[latter.round] = 1
        elif not (crashed_between(history, former, latter) or lease_ran_out(history, former, latter)):
            counts[latter.round] += 1
    most = max(counts.values())
    if most <= policy.attempts_max:
        return []
    what = f"{most} starts that no crash, lease expiry or redrive explains; the policy allows {policy.attempts_max}"
    return [Violation(timeline.task, Proof.RECORD, what)]

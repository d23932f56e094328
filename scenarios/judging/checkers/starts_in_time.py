"""The first start is at most `policy.wait_s` after acknowledgement and `due_s` (rule 25). A task that never starts is late, too.

`wait_s` is a number, or a number for each priority, keyed by text. Faults and pauses excuse as in rule 16.
"""

from scenarios.judging.lateness import AllowedDelays, closed_ns, is_awaited, never_started
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, NS_PER_S, History, TaskTimeline, ns_of


def check(history: History, policy: Policy) -> Findings:
    """Tasks that started too late, or never."""
    if policy.wait_s is None:
        return Findings(undecided="the policy states no wait_s")
    allowed = AllowedDelays(history, policy)
    violations: list[Violation] = []
    exercised = 0
    for timeline in history.tasks.values():
        wait_s = _wait_s(timeline, policy)
        since_ns = timeline.acknowledged_ns
        if wait_s is None or since_ns == FOREVER_NS:
            continue
        exercised += 1
        due_s = timeline.due_s
        ready_ns = since_ns if due_s is None else max(since_ns, ns_of(due_s[1]))
        found = late_start(history, allowed, timeline, ready_ns, ns_of(wait_s), "it was ready")
        if found is not None:
            violations.append(found)
    return Findings(tuple(violations), exercised=exercised, figures={"awaited": exercised, "late": len(violations)})


def _wait_s(timeline: TaskTimeline, policy: Policy) -> float | None:
    """How long this task may wait; None if the policy does not state its priority."""
    if not isinstance(policy.wait_s, dict):
        return policy.wait_s
    priority = next((event.priority for event in timeline.submissions if event.priority is not None), None)
    return policy.wait_s.get(str(priority))


def late_start(
    history: History,
    allowed: AllowedDelays,
    timeline: TaskTimeline,
    ready_ns: int,
    wait_ns: int,
    after: str,
    *,
    by_any: bool = False,
) -> Violation | None:
    """The violation of a task that had not started within `wait_ns`, extended by its excuses (`by_any`: all between); else None."""
    bound_ns = min(FOREVER_NS, ready_ns + wait_ns)
    if timeline.attempts:
        started_ns = timeline.attempts[0].started_ns
        if started_ns <= bound_ns or started_ns <= allowed.extended_ns(
            timeline, bound_ns, ready_ns, started_ns, by_any=by_any
        ):
            return None
        if closed_ns(history, timeline) <= bound_ns:
            return None
        what = f"started {(started_ns - ready_ns) / NS_PER_S:.3g} s after {after}"
        return Violation(timeline.task, Proof.EVENTS, what)
    end_ns = history.end_ns
    if end_ns <= bound_ns or not never_started(history, timeline) or not is_awaited(history, timeline):
        return None
    latest_ns = allowed.extended_ns(timeline, bound_ns, ready_ns, end_ns, by_any=by_any)
    if end_ns <= latest_ns or closed_ns(history, timeline) <= latest_ns:
        return None
    what = f"had not started {(end_ns - ready_ns) / NS_PER_S:.3g} s after {after}"
    return Violation(timeline.task, Proof.RECORD, what)

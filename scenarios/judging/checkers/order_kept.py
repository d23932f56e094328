"""Tasks of one `order_key` start in the order of their submission (docs/adr/0004).

One task is before another if it was acknowledged before the other's submission began. A witness started before a task that was before it.
"""

from collections import defaultdict

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks that overtook one of their own key."""
    by_key: dict[str, list[TaskTimeline]] = defaultdict(list)
    for timeline in history.tasks.values():
        key = next((event.order_key for event in timeline.submissions if event.order_key is not None), None)
        if key is not None and timeline.attempts:
            by_key[key].append(timeline)
    violations = [violation for timelines in by_key.values() for violation in _overtaking(timelines)]
    exercised = sum(len(timelines) > 1 for timelines in by_key.values())
    return Findings(tuple(violations), exercised=exercised, figures={"keys": len(by_key), "overtook": len(violations)})


def _overtaking(timelines: list[TaskTimeline]) -> list[Violation]:
    acknowledged = sorted((acknowledged_ns(timeline), timeline.attempts[0].started_ns) for timeline in timelines)
    position = 0
    latest_start_ns = -FOREVER_NS
    violations = []
    for timeline in sorted(timelines, key=invoked_ns):
        while position < len(acknowledged) and acknowledged[position][0] < invoked_ns(timeline):
            latest_start_ns = max(latest_start_ns, acknowledged[position][1])
            position += 1
        if timeline.attempts[0].started_ns < latest_start_ns:
            violations.append(
                Violation(timeline.task, Proof.EVENTS, "started before a task of its key that was submitted earlier")
            )
    return violations


def acknowledged_ns(timeline: TaskTimeline) -> int:
    """When it was first acknowledged; FOREVER_NS if it never was."""
    return min((event.t_ns for event in timeline.submissions if event.event == "submit.ok"), default=FOREVER_NS)


def invoked_ns(timeline: TaskTimeline) -> int:
    """When anybody first tried to hand it in."""
    return min(event.t_ns for event in timeline.submissions)

"""No class starves: a waiting task is overtaken by at most `policy.overtakes_max` tasks submitted after it (docs/adr/0004).

Judged where submissions name a `priority`. A task overtakes another if its submission began after the other's acknowledgement and it
started before the other did. Scheduled tasks wait for their time and are no victims.
"""

from bisect import bisect_left, insort

from scenarios.judging.checkers.order_kept import acknowledged_ns, invoked_ns
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks that were overtaken too often."""
    started = [timeline for timeline in history.tasks.values() if timeline.attempts and timeline.submissions]
    if not any(event.priority is not None for timeline in started for event in timeline.submissions):
        return Findings()
    overtakes = _overtakes(started)
    most = max((count for _, count in overtakes), default=0)
    figures = {"overtaken_most": most}
    if policy.overtakes_max is None:
        undecided = f"the policy states no overtakes_max; a task was overtaken {most} times"
        return Findings(exercised=len(overtakes), undecided=undecided, figures=figures)
    violations = tuple(
        Violation(
            task,
            Proof.EVENTS,
            f"overtaken by {count} tasks submitted after it; the policy allows {policy.overtakes_max}",
        )
        for task, count in overtakes
        if count > policy.overtakes_max
    )
    return Findings(violations, exercised=len(overtakes), figures=figures)


def _overtakes(started: list[TaskTimeline]) -> list[tuple[str, int]]:
    """For each acknowledged task that was not scheduled, how many submitted after it started before it."""
    by_submission = sorted(started, key=invoked_ns, reverse=True)
    position = 0
    starts_after: list[int] = []
    overtakes = []
    for timeline in sorted(started, key=acknowledged_ns, reverse=True):
        since_ns = acknowledged_ns(timeline)
        if since_ns == FOREVER_NS or timeline.due_s is not None:
            continue
        while position < len(by_submission) and invoked_ns(by_submission[position]) > since_ns:
            insort(starts_after, by_submission[position].attempts[0].started_ns)
            position += 1
        overtakes.append((timeline.task, bisect_left(starts_after, timeline.attempts[0].started_ns)))
    return overtakes

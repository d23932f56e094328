"""No priority starves: at most `policy.overtakes_max` later submitted tasks overtake a waiting task (rule 18, docs/adr/0004).

Judged if submissions name a `priority`. A task overtakes another if its submission began after the other's acknowledgement and it
started before the other, or the other never started. Overtaking does not count while the other's scope was paused, or while its key
was blocked under `serial`. Scheduled tasks, which wait for their time, cannot be overtaken; nor can cancelled, expired or dead ones.
"""

from bisect import bisect_left, bisect_right, insort

from scenarios.judging.checkers.order_kept import serial_ends_ns, tasks_by_order_key
from scenarios.judging.lateness import AllowedDelays, closed_ns, is_answered_by_another
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks that were overtaken too often."""
    submitted = [timeline for timeline in history.tasks.values() if timeline.submissions]
    if not any(event.priority is not None for timeline in submitted for event in timeline.submissions):
        return Findings()
    overtakes = _overtakes(history, submitted, policy)
    most = max((count for _, count in overtakes), default=0)
    figures = {"overtaken_most": most}
    if policy.overtakes_max is None:
        undecided = f"the policy states no overtakes_max; a task was overtaken {most} times"
        return Findings(exercised=len(overtakes), undecided=undecided, figures=figures)
    violations = tuple(
        Violation(
            timeline.task,
            Proof.EVENTS if timeline.attempts else Proof.RECORD,
            f"overtaken by {count} tasks submitted after it; the policy allows {policy.overtakes_max}",
        )
        for timeline, count in overtakes
        if count > policy.overtakes_max
    )
    return Findings(violations, exercised=len(overtakes), figures=figures)


def _overtakes(history: History, submitted: list[TaskTimeline], policy: Policy) -> list[tuple[TaskTimeline, int]]:
    """For each acknowledged task that was not scheduled, the number of later submitted tasks that started before it."""
    allowed = AllowedDelays(history, policy)
    blocked_ns = _blocked_until_ns(history) if policy.order == "serial" else {}
    overtakers = sorted(
        (one for one in submitted if one.attempts), key=lambda timeline: timeline.invoked_ns, reverse=True
    )
    position = 0
    starts_after: list[int] = []
    overtakes = []
    for timeline in sorted(submitted, key=lambda timeline: timeline.acknowledged_ns, reverse=True):
        since_ns = timeline.acknowledged_ns
        if since_ns == FOREVER_NS or timeline.due_s is not None:
            continue
        while position < len(overtakers) and overtakers[position].invoked_ns > since_ns:
            insort(starts_after, overtakers[position].attempts[0].started_ns)
            position += 1
        until_ns = _waited_until_ns(history, timeline)
        if until_ns is None:
            continue
        from_ns = blocked_ns.get(timeline.task, -FOREVER_NS)
        counted = bisect_left(starts_after, until_ns) - bisect_left(starts_after, min(from_ns, until_ns))
        counted -= _while_paused(allowed, timeline, starts_after, from_ns, until_ns)
        overtakes.append((timeline, max(0, counted)))
    return overtakes


def _waited_until_ns(history: History, timeline: TaskTimeline) -> int | None:
    """When the task stopped waiting: start, other end, or end of the record. None: this is unknown, or it never waited."""
    if timeline.attempts:
        return timeline.attempts[0].started_ns
    until_ns = closed_ns(history, timeline)
    if timeline.ran or timeline.task in history.lists.done or until_ns == -FOREVER_NS:
        return None
    if is_answered_by_another(history, timeline):
        return None
    return min(until_ns, history.end_ns + 1)


def _while_paused(
    allowed: AllowedDelays, timeline: TaskTimeline, starts_after: list[int], from_ns: int, until_ns: int
) -> int:
    """The number of these starts that lie in a pause of this task."""
    own = [pause for pause in allowed.pauses if pause.stops(timeline)]
    if not own:
        return 0
    first, last = bisect_left(starts_after, from_ns), bisect_left(starts_after, until_ns)
    paused = starts_after[first:last]
    count = 0
    reached_ns = -FOREVER_NS  # pauses of one scope and of all may overlap
    for pause in sorted(own, key=lambda pause: pause.from_ns):
        begin_ns = max(pause.from_ns, reached_ns)
        if pause.until_ns > begin_ns:
            count += bisect_right(paused, pause.until_ns) - bisect_left(paused, begin_ns)
            reached_ns = pause.until_ns + 1
    return count


def _blocked_until_ns(history: History) -> dict[str, int]:
    """Until when each task with an order key had to wait for the ends of earlier tasks of its key, under `serial`."""
    blocked: dict[str, int] = {}
    for timelines in tasks_by_order_key(history).values():
        ends_ns = serial_ends_ns(history, timelines)
        first = sorted((one.acknowledged_ns, ends_ns[one.task]) for one in timelines if one.task in ends_ns)
        position = 0
        latest_ns = -FOREVER_NS
        for timeline in sorted(timelines, key=lambda one: one.invoked_ns):
            while position < len(first) and first[position][0] < timeline.invoked_ns:
                latest_ns = max(latest_ns, first[position][1])
                position += 1
            blocked[timeline.task] = latest_ns
    return blocked

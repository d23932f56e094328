"""Tasks of one `order_key` keep the order of their submission (rule 22, docs/adr/0004).

One task is before another if it was acknowledged before the other's submission began. `policy.order` = `starts` (default): a witness
started before a task that is before it. `serial`: a witness started while a task that is before it had not finally ended. A task
finally ends with its first `attempt.ok`, `dead`, final row, or `cancel.ok` without a running attempt; if it is listed as ended
without such an event, with the end of its last attempt.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from scenarios.judging.lateness import is_answered_by_another, pauses_of
from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import waits_rightly
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.events import FINAL_STATES
from scenarios.record.history import FOREVER_NS, History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks that overtook a task of their own key."""
    by_key = tasks_by_order_key(history)
    started = {key: [one for one in timelines if one.attempts] for key, timelines in by_key.items()}
    violations = []
    for timelines in by_key.values():
        if policy.order == "serial":
            what = "started while a task of its key that was submitted earlier had not ended"
            violations += _ahead(timelines, serial_ends_ns(history, timelines), Proof.RECORD, what)
        else:
            what = "started before a task of its key that was submitted earlier"
            violations += _ahead(timelines, _starts_ns(timelines), Proof.EVENTS, what)
            violations += _ahead(timelines, _never_ns(history, timelines, policy), Proof.END, what)
    return Findings(
        tuple(violations),
        exercised=sum(len(timelines) > 1 for timelines in started.values()),
        figures={"keys": sum(map(bool, started.values())), "overtook": len(violations)},
    )


def tasks_by_order_key(history: History) -> dict[str, list[TaskTimeline]]:
    """The tasks of each key, except resubmissions of another task."""
    by_key: dict[str, list[TaskTimeline]] = defaultdict(list)
    for timeline in history.tasks.values():
        key = timeline.stated("order_key")
        if key is not None and not is_answered_by_another(history, timeline):
            by_key[key].append(timeline)
    return by_key


def _starts_ns(timelines: Iterable[TaskTimeline]) -> dict[str, int]:
    """When each task of a key first started."""
    return {timeline.task: timeline.attempts[0].started_ns for timeline in timelines if timeline.attempts}


def _never_ns(history: History, timelines: Iterable[TaskTimeline], policy: Policy) -> dict[str, int]:
    """FOREVER_NS for each task that never started, is still pending at the end and does not wait rightly."""
    return {
        timeline.task: FOREVER_NS
        for timeline in timelines
        if timeline.task in history.lists.pending
        and not timeline.ran
        and not waits_rightly(history, timeline, policy, pauses_of(history))
    }


def serial_ends_ns(history: History, timelines: Iterable[TaskTimeline]) -> dict[str, int]:
    """When each task finally ended; FOREVER_NS if it did not. Tasks whose end is unknown are left out."""
    return {timeline.task: end_ns for timeline in timelines if (end_ns := _ended_ns(history, timeline)) is not None}


def _ended_ns(history: History, timeline: TaskTimeline) -> int | None:
    ends_ns = [one.ended_ns for one in timeline.attempts if one.outcome == "ok" and one.ended_ns is not None]
    ends_ns += [] if timeline.succeeded_ns is None or ends_ns else [timeline.succeeded_ns]
    ends_ns += [letter.t_ns for letter in timeline.deads]
    ends_ns += [row.t_ns for row in timeline.states if row.to in FINAL_STATES]
    if timeline.cancelled_ns is not None:
        ends_ns.append(_free_ns(timeline, timeline.cancelled_ns))
    if ends_ns:
        return min(ends_ns)
    lists = history.lists
    if any(timeline.task in listed for listed in (lists.done, lists.dead, lists.cancelled, lists.expired)):
        return max((one.ended_ns for one in timeline.attempts if one.ended_ns is not None), default=None)
    return FOREVER_NS if timeline.acknowledged else None


def _free_ns(timeline: TaskTimeline, from_ns: int) -> int:
    """The first instant at or after `from_ns` at which no attempt of the task runs."""
    free_ns = from_ns
    for attempt in timeline.attempts:
        if attempt.started_ns <= free_ns:
            free_ns = max(free_ns, FOREVER_NS if attempt.ended_ns is None else attempt.ended_ns)
    return free_ns


def _ahead(timelines: Sequence[TaskTimeline], until_ns: dict[str, int], proof: Proof, what: str) -> list[Violation]:
    """Tasks that started before `until_ns` of an earlier submitted task."""
    first = sorted((one.acknowledged_ns, until_ns[one.task]) for one in timelines if one.task in until_ns)
    position = 0
    latest_ns = -FOREVER_NS
    violations = []
    for timeline in sorted(timelines, key=lambda one: one.invoked_ns):
        while position < len(first) and first[position][0] < timeline.invoked_ns:
            latest_ns = max(latest_ns, first[position][1])
            position += 1
        if timeline.attempts and timeline.attempts[0].started_ns < latest_ns:
            violations.append(Violation(timeline.task, proof, what))
    return violations

"""States that clients read (rule 13): none changes after a final one; a final one is that of the account, and not ahead of the facts.

After a client read a final state, no later read shows another; the final state read is the one in `final`; it is not read before its
`state` row, if there are rows, and SUCCEEDED not before the task's first effect. These rules begin anew with each redrive. A read is
later than another if it was requested after the other's answer, if the history states when it was requested.
"""

from bisect import bisect_right

from scenarios.judging.lateness import answered_by
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.events import FINAL_STATES
from scenarios.record.history import Event, History, TaskTimeline
from scenarios.record.timeline import T_NS

_PLACES = {"SUCCEEDED": "done", "FAILED": "dead", "DEAD": "dead", "CANCELLED": "cancelled", "EXPIRED": "expired"}
"""The list of the final account in which tasks of each final state are."""


def check(history: History, policy: Policy) -> Findings:
    """Tasks whose clients read a wrong status."""
    violations: list[Violation] = []
    reads = 0
    exercised = 0
    for timeline in history.tasks.values():
        if not timeline.statuses:
            continue
        reads += len(timeline.statuses)
        finals = [event for event in timeline.statuses if event.state in FINAL_STATES]
        if not finals:
            continue
        exercised += 1
        violations.extend(
            _changed(timeline)
            or _ahead(timeline, finals)
            or _ahead_of_its_effect(timeline, finals)
            or _contradicted(history, timeline, finals)
        )
    return Findings(tuple(violations), exercised=exercised, figures={"reads": reads, "untruthful": len(violations)})


def _changed(timeline: TaskTimeline) -> list[Violation]:
    former: Event | None = None
    since_ns = 0
    for event in timeline.statuses:
        if former is not None:
            if timeline.redrives_ns and timeline.redriven_between(since_ns, event.t_ns):
                former = None
            elif event.state != former.state and _asked_ns(event) > former.t_ns:
                return [
                    Violation(timeline.task, Proof.EVENTS, f"a client read {former.state}, and later {event.state}")
                ]
        if former is None and event.state in FINAL_STATES:
            former = event
            since_ns = _final_since_ns(timeline, former) if timeline.redrives_ns else 0
    return []


def _asked_ns(event: Event) -> int:
    asked_ns = event.t_ns if event.asked_ns is None else event.asked_ns
    assert asked_ns is not None
    return asked_ns


def _final_since_ns(timeline: TaskTimeline, read: Event) -> int:
    """When the state that was read began, by its row; without a row, when the client sent its request. A later redrive explains a change.

    Not the time of the answer, because a redrive is recorded when its statement runs, and until its transaction commits clients
    correctly read the previous state.
    """
    rows = range(bisect_right(timeline.states, read.t_ns, key=T_NS) - 1, -1, -1)
    row_ns = next((timeline.states[place].t_ns for place in rows if timeline.states[place].to == read.state), None)
    letters = bisect_right(timeline.deads, read.t_ns, key=T_NS) if read.state == "DEAD" else 0
    since_ns = [] if row_ns is None else [row_ns]
    since_ns += [timeline.deads[letters - 1].t_ns] if letters else []
    return max(since_ns, default=_asked_ns(read))


def _ahead(timeline: TaskTimeline, finals: list[Event]) -> list[Violation]:
    if not timeline.states:
        return []
    made_ns: dict[str, int] = {}
    for row in timeline.states:
        assert row.to is not None
        made_ns.setdefault(row.to, row.t_ns)
    for event in finals:
        assert event.state is not None
        row_ns = made_ns.get(event.state)
        if row_ns is None:
            return [Violation(timeline.task, Proof.RECORD, f"a client read {event.state}, but there is no such row")]
        if event.t_ns < row_ns:
            what = f"a client read {event.state} {(row_ns - event.t_ns) / 1e9:.3g} s before its row"
            return [Violation(timeline.task, Proof.EVENTS, what)]
    return []


def _ahead_of_its_effect(timeline: TaskTimeline, finals: list[Event]) -> list[Violation]:
    """A client read SUCCEEDED before the first effect of the task was accepted."""
    if not timeline.effects or timeline.redrives_ns:
        return []
    effect_ns = timeline.effects[0].t_ns
    for event in finals:
        if event.state == "SUCCEEDED" and event.t_ns < effect_ns:
            early_s = (effect_ns - event.t_ns) / 1e9
            return [
                Violation(
                    timeline.task, Proof.EVENTS, f"a client read SUCCEEDED {early_s:.3g} s before its first effect"
                )
            ]
    return []


def _contradicted(history: History, timeline: TaskTimeline, finals: list[Event]) -> list[Violation]:
    final, lists = history.final, history.lists
    last = finals[-1]
    if final is None:
        return []
    assert last.state is not None
    place = _PLACES[last.state]
    task = timeline.task
    expected = getattr(lists, place)
    if task in expected:
        return []
    if timeline.redrives_ns and timeline.redrives_ns[-1] >= _final_since_ns(timeline, last):
        return []
    if any(other in expected for other in answered_by(history, timeline)):
        return []
    elsewhere = any(task in tasks for tasks in (lists.done, lists.dead, lists.cancelled, lists.expired, lists.pending))
    if getattr(final, place) is None and not elsewhere:
        return []
    where = "lists it elsewhere" if elsewhere else "does not list it there"
    return [Violation(task, Proof.END, f"a client read {last.state}, but the final account {where}")]

"""The percent of one (task, attempt) never goes down (rule 13). A report without a number belongs to its actor's latest start."""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import Event, History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks whose progress went back."""
    violations = []
    reports = 0
    exercised = 0
    for timeline in history.tasks.values():
        reports += len(timeline.progress)
        if len({attempt for attempt, _ in timeline.progress}) == len(timeline.progress):
            continue  # no attempt reported twice
        exercised += 1
        what = _goes_back(timeline)
        if what:
            violations.append(Violation(timeline.task, Proof.EVENTS, what))
    return Findings(tuple(violations), exercised=exercised, figures={"reports": reports, "went_back": len(violations)})


def _goes_back(timeline: TaskTimeline) -> str:
    """The first decrease, in words. Two reports by different actors at the same instant have no known order."""
    highest: dict[object, Event] = {}
    for attempt, event in timeline.progress:
        before = highest.get(attempt)
        assert event.percent is not None
        if before is None or before.percent is None or event.percent >= before.percent:
            highest[attempt] = event
        elif before.t_ns != event.t_ns or before.actor == event.actor:
            return f"progress of one attempt went from {before.percent:g} % to {event.percent:g} %"
    return ""

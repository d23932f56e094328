"""Violated by an accepted `write` or `effect` with a fence older than one accepted before, for that resource or task (rule 11).

Exercised if two fences were accepted, or an older one was refused.
"""

from collections.abc import Iterator

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import Event, History


def check(history: History, policy: Policy) -> Findings:
    """Resources and tasks with an accepted write of a stale holder."""
    violations = []
    exercised = 0
    fenced = 0
    refused = 0
    for subject, accepted, rejected in _subjects(history):
        fences = [event for event in accepted if event.fence is not None]
        if not fences:
            continue
        fenced += len(fences)
        older = sum(_is_older(event, fences) for event in rejected)
        refused += older
        exercised += older > 0 or len({event.fence for event in fences}) > 1
        stale = _first_stale(fences)
        if stale:
            violations.append(Violation(subject, Proof.EVENTS, stale))
    figures = {"fenced": fenced, "stale": len(violations), "stale_refused": refused}
    return Findings(tuple(violations), exercised=exercised, figures=figures)


def _subjects(history: History) -> Iterator[tuple[str, list[Event], list[Event]]]:
    """Every resource and task that was written to, with the accepted and the refused writes."""
    for resource, writes in history.writes.items():
        yield resource, writes, history.refused_writes.get(resource, [])
    for task, timeline in history.tasks.items():
        if timeline.effects:
            yield task, timeline.effects, history.refused_effects.get(task, [])


def _is_older(refused: Event, accepted: list[Event]) -> bool:
    """Whether a newer fence had been accepted when this one was refused."""
    fence = refused.fence
    return fence is not None and any(
        event.t_ns <= refused.t_ns and event.fence is not None and event.fence > fence for event in accepted
    )


def _first_stale(fenced: list[Event]) -> str:
    """The first acceptance of an older fence. Two by different actors at the same instant have no known order."""
    newest = fenced[0]  # of those surely before the present instant
    same_instant: list[Event] = []
    for event in fenced:
        if same_instant and same_instant[0].t_ns != event.t_ns:
            newest = max([newest, *same_instant], key=_fence)
            same_instant.clear()
        surely_before = [newest, *(one for one in same_instant if one.actor == event.actor)]
        former = max(surely_before, key=_fence)
        if _fence(event) < _fence(former) and (former.t_ns != event.t_ns or former.actor == event.actor):
            return f"fence {event.fence} of {event.actor} was accepted after fence {former.fence} of {former.actor}"
        same_instant.append(event)
    return ""


def _fence(event: Event) -> int:
    assert event.fence is not None
    return event.fence

"""A `write` or `effect` accepted with a fence lower than one accepted before, for that resource or task, breaks it (rule 11)."""

from scenarios.history import Event, History
from scenarios.policy import Policy
from scenarios.verdict import Breach, Findings, Proof


def check(history: History, policy: Policy) -> Findings:
    """Resources and tasks that a stale holder wrote to."""
    breaches = []
    exercised = 0
    fenced = 0
    for subject, events in _accepted(history):
        fences = [event for event in events if event.fence is not None]
        fenced += len(fences)
        if len(fences) < 2:
            continue
        exercised += len({event.fence for event in fences}) > 1
        stale = _first_stale(fences)
        if stale:
            breaches.append(Breach(subject, Proof.EVENTS, stale))
    return Findings(tuple(breaches), exercised=exercised, figures={"fenced": fenced, "stale": len(breaches)})


def _accepted(history: History) -> list[tuple[str, list[Event]]]:
    effects = ((timeline.task, timeline.effects) for timeline in history.tasks.values() if timeline.effects)
    return [*history.writes.items(), *effects]


def _first_stale(fenced: list[Event]) -> str:
    """The first acceptance of an older fence; two at the same instant by different actors have no order that could prove it."""
    newest = fenced[0]  # of those surely before the instant in hand
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

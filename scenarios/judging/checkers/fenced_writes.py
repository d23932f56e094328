"""Violated by an accepted `write` or `effect` with a fence older than one accepted before, for that resource or task (rule 11).

Exercised if two fences were accepted, or an older one was refused.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import Event, History
from scenarios.record.timeline import T_NS


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
        if len(fences) == 1 and not rejected:
            continue
        older = _count_older(rejected, fences)
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


def _count_older(refused: list[Event], accepted: list[Event]) -> int:
    """How many were refused when a newer fence had been accepted."""
    newest = list(accumulate(map(_fence, accepted), max))
    count = 0
    for event in refused:
        before = bisect_right(accepted, event.t_ns, key=T_NS)
        count += event.fence is not None and before > 0 and newest[before - 1] > event.fence
    return count


def _first_stale(fenced: list[Event]) -> str:
    """The first acceptance of an older fence. Two by different actors at the same instant have no known order."""
    newest = latest = fenced[0]  # of those surely before the present instant; of all so far
    by_actor: dict[str, Event] = {}  # the newest of each at the present instant
    last_ns = newest.t_ns
    for event in fenced:
        if event.t_ns != last_ns:
            newest, last_ns = latest, event.t_ns
            by_actor.clear()
        own = by_actor.get(event.actor, newest)
        former = max(newest, own, key=_fence)
        if _fence(event) < _fence(former) and (former.t_ns != event.t_ns or former.actor == event.actor):
            return f"fence {event.fence} of {event.actor} was accepted after fence {former.fence} of {former.actor}"
        by_actor[event.actor] = event if event.actor not in by_actor else max(own, event, key=_fence)
        latest = max(latest, event, key=_fence)
    return ""


def _fence(event: Event) -> int:
    assert event.fence is not None
    return event.fence

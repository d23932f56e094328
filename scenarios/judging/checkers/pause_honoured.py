"""No `attempt.start` between `pause.ok` + `policy.grace_s` and `resume.ok` (rule 15).

A pause with a scope stops the tasks that were submitted with that scope; one without, or of scope "all" or "global", stops every
task, and so does any pause where no submission names a scope.
"""

from dataclasses import dataclass

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, NS_PER_S, History, TaskTimeline

_EVERYTHING = (None, "", "all", "global", "*")


@dataclass(frozen=True, slots=True)
class _Pause:
    scope: str | None  # None: every task
    from_ns: int
    until_ns: int


def check(history: History, policy: Policy) -> Findings:
    """Tasks that started in a pause."""
    if not history.pauses:
        return Findings(figures={"pauses": 0})
    pauses = _pauses(history, round((policy.grace_s or 0.0) * NS_PER_S))
    violations = []
    for timeline in history.tasks.values():
        for attempt in timeline.attempts:
            if any(_stops(pause, timeline) and pause.from_ns < attempt.started_ns < pause.until_ns for pause in pauses):
                violations.append(Violation(timeline.task, Proof.EVENTS, f"{attempt.actor} started it in a pause"))
    return Findings(
        tuple(violations), exercised=len(pauses), figures={"pauses": len(pauses), "started_paused": len(violations)}
    )


def _pauses(history: History, grace_ns: int) -> list[_Pause]:
    scopes_known = any(event.scope for timeline in history.tasks.values() for event in timeline.submissions)
    begun: dict[str | None, int] = {}
    pauses = []
    for event in history.pauses:
        scope = None if event.scope in _EVERYTHING or not scopes_known else event.scope
        if event.event == "pause.ok":
            begun.setdefault(scope, event.t_ns)
            continue
        for ended in list(begun) if scope is None else [scope]:
            since_ns = begun.pop(ended, None)
            if since_ns is not None:
                pauses.append(_Pause(ended, since_ns + grace_ns, event.t_ns))
    return [*pauses, *(_Pause(scope, since_ns + grace_ns, FOREVER_NS) for scope, since_ns in begun.items())]


def _stops(pause: _Pause, timeline: TaskTimeline) -> bool:
    return pause.scope is None or any(event.scope == pause.scope for event in timeline.submissions)

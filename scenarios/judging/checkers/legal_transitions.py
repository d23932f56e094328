"""By state rows only: each `from` is the last `to`, the transition is in the life cycle, and none leaves a final state (rule 7).

Exception: DEAD → ACCEPTED after a `redrive` that is later than the death.
"""

from collections.abc import Mapping

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.events import FINAL_STATES
from scenarios.record.history import Event, History, TaskTimeline

TRANSITIONS: Mapping[str | None, frozenset[str]] = {
    None: frozenset({"ACCEPTED"}),
    "ACCEPTED": frozenset({"RUNNING", "CANCELLED", "EXPIRED", "DEAD"}),
    "RUNNING": frozenset({"WAITING_TOOL", "RETRYING"}) | FINAL_STATES,
    "WAITING_TOOL": frozenset({"RUNNING", "RETRYING"}) | FINAL_STATES,
    "RETRYING": frozenset({"RUNNING", "CANCELLED", "EXPIRED", "DEAD"}),
    "DEAD": frozenset({"ACCEPTED"}),
}
"""The states that may follow each state; None: the task does not exist yet."""

STATES = tuple(dict.fromkeys(to for states in TRANSITIONS.values() for to in sorted(states)))
"""The names of all states."""


def check(history: History, policy: Policy) -> Findings:
    """Tasks with an illegal transition."""
    audited = [timeline for timeline in history.tasks.values() if timeline.states]
    violations = tuple(violation for timeline in audited for violation in _illegal(timeline))
    return Findings(
        violations,
        exercised=len(audited),
        figures={"rows": sum(len(timeline.states) for timeline in audited), "illegal": len(violations)},
    )


def _illegal(timeline: TaskTimeline) -> list[Violation]:
    violations = []
    last: str | None = None
    last_ns: int | None = None
    for row in timeline.states:
        is_plain = row.from_ == last and last != "DEAD" and row.to in TRANSITIONS.get(last, ())
        what = "" if is_plain else _why_not(timeline, last, last_ns, row)
        if what:
            violations.append(Violation(timeline.task, Proof.EVENTS, what))
        last, last_ns = row.to, row.t_ns
    return violations


def _why_not(timeline: TaskTimeline, last: str | None, last_ns: int | None, row: Event) -> str:
    if row.to not in STATES:
        return f"{row.to!r} is not a state of the life cycle; the states are {', '.join(STATES)}"
    if row.from_ != last:
        return f"{row.from_} → {row.to} although the task was {last or 'not created'}"
    if row.to not in TRANSITIONS.get(last, ()):
        return f"{last or 'nothing'} → {row.to} is not a transition of the life cycle"
    if last == "DEAD":
        assert last_ns is not None
        if not timeline.redriven_between(last_ns, row.t_ns):
            return "left DEAD without a redrive"
    return ""

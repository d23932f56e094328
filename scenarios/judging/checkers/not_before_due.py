"""No start before `due_s`; where submissions of a task differ, the earliest counts (rule 16)."""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import NS_PER_S, History, ns_of


def check(history: History, policy: Policy) -> Findings:
    """Scheduled tasks that started before their time."""
    violations = []
    exercised = 0
    for timeline in history.tasks.values():
        due_s = timeline.due_s
        if due_s is None:
            continue
        exercised += 1
        due_ns = ns_of(due_s[0])
        if timeline.attempts and timeline.attempts[0].started_ns < due_ns:
            early_s = (due_ns - timeline.attempts[0].started_ns) / NS_PER_S
            violations.append(Violation(timeline.task, Proof.EVENTS, f"started {early_s:.3g} s before its time"))
    return Findings(tuple(violations), exercised=exercised, figures={"scheduled": exercised, "early": len(violations)})

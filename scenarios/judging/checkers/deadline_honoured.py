"""No `attempt.start` after `deadline_s`; where submissions of a task differ, the latest counts (rule 15)."""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import NS_PER_S, History, ns_of


def check(history: History, policy: Policy) -> Findings:
    """Tasks that started after their deadline."""
    violations = []
    exercised = 0
    for timeline in history.tasks.values():
        deadline_s = timeline.deadline_s
        if deadline_s is None:
            continue
        exercised += 1
        deadline_ns = ns_of(deadline_s)
        late = [attempt for attempt in timeline.attempts if attempt.started_ns > deadline_ns]
        if late:
            late_s = (late[0].started_ns - deadline_ns) / NS_PER_S
            violations.append(Violation(timeline.task, Proof.EVENTS, f"started {late_s:.3g} s after its deadline"))
    return Findings(
        tuple(violations), exercised=exercised, figures={"with_deadline": exercised, "started_late": len(violations)}
    )

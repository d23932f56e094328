"""No `attempt.start` after `cancel.ok` (rule 15)."""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks that started although their cancellation was promised."""
    violations = []
    cancelled = 0
    for timeline in history.tasks.values():
        if timeline.cancelled_ns is None:
            continue
        cancelled += 1
        late = [attempt for attempt in timeline.attempts if attempt.started_ns > timeline.cancelled_ns]
        if late:
            waited_s = (late[0].started_ns - timeline.cancelled_ns) / 1e9
            violations.append(
                Violation(timeline.task, Proof.EVENTS, f"started {waited_s:.3g} s after its cancellation was promised")
            )
    return Findings(
        tuple(violations), exercised=cancelled, figures={"cancelled": cancelled, "started": len(violations)}
    )

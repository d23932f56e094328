"""The first start is at most `tolerance_s` after `due_s` (rules 16 and 18). A task that never starts is late, too.

A fault or a pause of the task in between extends the bound to `budget_s` after its end. A task that was cancelled, expired or dead
before the bound is not late.
"""

from scenarios.judging.checkers.starts_in_time import late_start
from scenarios.judging.lateness import AllowedDelays
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Violation
from scenarios.record.history import NS_PER_S, History, ns_of


def check(history: History, policy: Policy) -> Findings:
    """Scheduled tasks that started too late, or never."""
    tolerance_ns = ns_of(policy.tolerance_s or 0.0)
    allowed: AllowedDelays | None = None
    violations: list[Violation] = []
    exercised = 0
    latest_late_s = 0.0
    for timeline in history.tasks.values():
        due_s = timeline.due_s
        if due_s is None:
            continue
        allowed = allowed or AllowedDelays(history, policy)
        exercised += 1
        due_ns = ns_of(due_s[1])
        if timeline.attempts:
            latest_late_s = max(latest_late_s, (timeline.attempts[0].started_ns - due_ns) / NS_PER_S)
        found = late_start(history, allowed, timeline, due_ns, tolerance_ns, "its time", by_any=True)
        if found is not None:
            violations.append(found)
    return Findings(
        tuple(violations),
        exercised=exercised,
        figures={"scheduled": exercised, "late": len(violations), "latest_s": latest_late_s},
    )

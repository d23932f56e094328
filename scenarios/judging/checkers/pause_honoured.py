"""No `attempt.start` between `pause.ok` + `policy.grace_s` and `resume.ok` (rule 15), or the asking for it where that is known.

A pause with a scope stops the tasks that were submitted with that scope. A pause without a scope, or with scope "all" or "global", stops
every task; so does any pause if no submission names a scope.
"""

from scenarios.judging.lateness import pauses_of
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History, ns_of


def check(history: History, policy: Policy) -> Findings:
    """Tasks that started during a pause."""
    if not history.pauses:
        return Findings(figures={"pauses": 0})
    pauses = pauses_of(history)
    grace_ns = ns_of(policy.grace_s or 0.0)
    violations = []
    for timeline in history.tasks.values():
        for attempt in timeline.attempts:
            if any(
                pause.from_ns + grace_ns < attempt.started_ns < pause.surely_until_ns and pause.stops(timeline)
                for pause in pauses
            ):
                violations.append(Violation(timeline.task, Proof.EVENTS, f"{attempt.actor} started it during a pause"))
    return Findings(
        tuple(violations), exercised=len(pauses), figures={"pauses": len(pauses), "started_paused": len(violations)}
    )

"""A phantom is an attempt or effect of a task that was never submitted, or whose every submission surely failed (rule 4).

A `fail` counts only if no other invocation of the task is ok, unknown or still open.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks that ran without a possible submission."""
    violations = []
    ran = 0
    for timeline in history.tasks.values():
        if not timeline.ran:
            continue
        ran += 1
        if not timeline.is_submitted:
            violations.append(Violation(timeline.task, Proof.RECORD, "ran, and was never submitted"))
        elif not timeline.is_possible:
            violations.append(Violation(timeline.task, Proof.RECORD, "ran, although its submission had surely failed"))
    return Findings(tuple(violations), exercised=ran, figures={"ran": ran, "phantoms": len(violations)})

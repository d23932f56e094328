"""Stuck is a task that the final account lists as pending, acknowledged or not, and that does not wait rightly (rules 3 and 19).

Where the system cannot list what is pending and an acknowledged task is unaccounted for, lost and stuck cannot be told apart.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import reconcile
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks that nothing will carry out any more."""
    reconciliation = reconcile(history, policy)
    acknowledged = sum(timeline.acknowledged > 0 for timeline in history.tasks.values())
    undecided = reconciliation.contradiction
    if history.final is not None and history.final.pending is None and reconciliation.lost:
        undecided = (
            f"the system cannot list what is pending, and {len(reconciliation.lost)} task(s) are unaccounted for"
        )
    return Findings(
        tuple(Violation(task, Proof.END, "still pending after the drain") for task in reconciliation.stuck),
        exercised=acknowledged,
        undecided=undecided,
        figures={"acknowledged": acknowledged, "stuck": len(reconciliation.stuck)},
    )

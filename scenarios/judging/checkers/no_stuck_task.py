"""A task is stuck if the final account lists it as pending, acknowledged or not, and it does not wait rightly (rules 3 and 19).

If the system cannot list pending tasks and an acknowledged task is missing, lost and stuck cannot be distinguished.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import reconcile
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks that are still pending after the drain."""
    reconciliation = reconcile(history, policy)
    acknowledged = sum(timeline.acknowledged > 0 for timeline in history.tasks.values())
    undecided = reconciliation.contradiction
    if history.final is not None and history.final.pending is None and reconciliation.lost:
        undecided = (
            f"the system cannot list pending tasks, and {len(reconciliation.lost)} task(s) are missing from the account"
        )
    return Findings(
        tuple(Violation(task, Proof.END, "still pending after the drain") for task in reconciliation.stuck),
        exercised=acknowledged,
        undecided=undecided,
        figures={"acknowledged": acknowledged, "stuck": len(reconciliation.stuck)},
    )

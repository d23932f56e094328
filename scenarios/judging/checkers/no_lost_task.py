"""A task is lost if it was acknowledged, is not done, and is in no list of the final account (rule 3).

If the system cannot list such tasks, a dead letter, a cancellation or the audit trail is enough to show that a task ended. A
resubmission (same user, key and id) is the first task, not another one.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import reconcile
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks that vanished."""
    reconciliation = reconcile(history, policy)
    acknowledged = sum(timeline.acknowledged > 0 for timeline in history.tasks.values())
    what = "acknowledged, not done, and in no list of the account"
    return Findings(
        tuple(Violation(task, Proof.END, what) for task in reconciliation.lost),
        exercised=acknowledged,
        undecided=reconciliation.contradiction,
        figures={"acknowledged": acknowledged, "lost": len(reconciliation.lost)},
    )

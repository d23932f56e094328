"""Lost is a task that was acknowledged, is not done, and is in no list of the final account (rule 3).

A task that a dead letter, a cancellation or its audit trail shows to have ended is accounted for where the system cannot list
such tasks. The answer to a resubmission (same user, key and id) is the first task's, not a task of its own.
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

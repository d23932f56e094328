"""Stuck is a task that the final account lists as pending, acknowledged or not (rule 3).

Where the system cannot list what is pending and an acknowledged task is unaccounted for, nobody can tell lost from stuck.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import account_of
from scenarios.judging.verdict import Breach, Findings, Proof
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks that wait for nobody."""
    account = account_of(history, policy)
    acknowledged = sum(timeline.acknowledged > 0 for timeline in history.tasks.values())
    undecided = account.contradiction
    if history.final is not None and history.final.pending is None and account.lost:
        undecided = f"the system cannot list what is pending, and {len(account.lost)} task(s) are unaccounted for"
    return Findings(
        tuple(Breach(task, Proof.END, "still pending after the drain") for task in account.stuck),
        exercised=acknowledged,
        undecided=undecided,
        figures={"acknowledged": acknowledged, "stuck": len(account.stuck)},
    )

"""Task row and message: both exist or, in the end, neither (docs/adr/0004). Judged if the history has `state` rows.

A row without a message: after the drain a task is still pending that never started and whose only row is ACCEPTED, unless it waits
rightly (rule 19). A message without a row: a task started, but no row ever created it.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import reconcile
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks with a row and no message, or a message and no row."""
    if not history.records_states:
        return Findings()
    stuck = frozenset(reconcile(history, policy).stuck)
    violations = []
    exercised = 0
    for timeline in history.tasks.values():
        if timeline.states:
            exercised += 1
            if timeline.task in stuck and not timeline.ran and [row.to for row in timeline.states] == ["ACCEPTED"]:
                violations.append(
                    Violation(timeline.task, Proof.END, "its row exists, but no message of it ever arrived")
                )
        elif timeline.attempts:
            violations.append(Violation(timeline.task, Proof.RECORD, "started, but no row of it was ever written"))
    return Findings(
        tuple(violations), exercised=exercised, figures={"rows": exercised, "one_without_the_other": len(violations)}
    )

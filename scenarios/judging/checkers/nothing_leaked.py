"""No planted secret appears in rows, logs, metrics or reports: no `secret.found` (docs/adr/0004). Exercised where one was sought."""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Places where a secret came to light; the witness is the task it belonged to, or else the place."""
    sought = sum(event.event == "secret.sought" for event in history.secrets)
    violations = tuple(
        Violation(event.task or event.target or "", Proof.EVENTS, f"a planted secret was found in {event.target}")
        for event in history.secrets
        if event.event == "secret.found"
    )
    return Findings(violations, exercised=sought, figures={"places_searched": sought, "found": len(violations)})

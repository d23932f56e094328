"""No canary appears in rows, logs, metrics or reports: no `secret.found` (docs/adr/0004). Exercised if canaries were searched for.

The lab's own files do not count, because they quote struck messages.
"""

import re

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import Event, History

_WRITTEN_BY_THE_LAB = re.compile(r"(?:^|/)(?:history\.lab\.jsonl(?:\.gz)?|run\.json|live\.json|verdicts\.json)$")


def check(history: History, policy: Policy) -> Findings:
    """Places where a canary was found; the witness is its task, else the place."""
    places = [event for event in history.secrets if not _is_of_the_lab(event)]
    sought = sum(event.event == "secret.sought" for event in places)
    violations = tuple(
        Violation(event.task or event.target or "", Proof.EVENTS, f"a canary was found in {event.target}")
        for event in places
        if event.event == "secret.found"
    )
    return Findings(violations, exercised=sought, figures={"places_searched": sought, "found": len(violations)})


def _is_of_the_lab(event: Event) -> bool:
    return _WRITTEN_BY_THE_LAB.search(event.target or "") is not None

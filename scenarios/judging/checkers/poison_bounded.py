"""A task never has more than `attempts_max` starts in all, redrives apart: each redrive begins a new count (rule 10)."""

from collections import Counter

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks that were tried without end."""
    violations = []
    most = 0
    exercised = 0
    for timeline in history.tasks.values():
        if len(timeline.attempts) > 1:
            exercised += 1
            starts = max(Counter(attempt.round for attempt in timeline.attempts).values())
        else:
            starts = len(timeline.attempts)
        most = max(most, starts)
        if policy.attempts_max is not None and starts > policy.attempts_max:
            violations.append(
                Violation(timeline.task, Proof.EVENTS, f"{starts} starts; the policy allows {policy.attempts_max}")
            )
    undecided = ""
    if policy.attempts_max is None and most > 1:
        undecided = f"a task was started {most} times, and the policy states no attempts_max"
    return Findings(
        tuple(violations),
        exercised=exercised,
        undecided=undecided,
        figures={"starts_most": most, "over": len(violations)},
    )

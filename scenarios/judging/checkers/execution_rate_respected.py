"""Never more than n starts of attempts per `policy.execution_window`, retries included (rule 25).

The window is as for rate limits, with an optional `by`: scope, order_key or user; without it all starts count together. The witness is
the value, or `all`.
"""

from collections import defaultdict

from scenarios.judging.checkers.concurrency_bounded import value_of
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.judging.windows import comes_to_the_limit, exceeded
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Values with too many starts within a window."""
    window = policy.execution_window
    if window is None:
        return Findings(undecided="the policy states no execution_window")
    by = str(window.get("by") or "all")
    starts_ns: dict[str, list[int]] = defaultdict(list)
    for timeline in history.tasks.values():
        value = value_of(timeline, by)
        if value is not None:
            starts_ns[value] += [attempt.started_ns for attempt in timeline.attempts]
    violations = []
    exercised = 0
    for value, instants in starts_ns.items():
        instants.sort()
        exercised += comes_to_the_limit(instants, window)
        what = exceeded(instants, window, "started")
        if what:
            violations.append(Violation(value, Proof.EVENTS, what))
    figures = {"starts": sum(map(len, starts_ns.values())), "over": len(violations)}
    return Findings(tuple(violations), exercised=exercised, figures=figures)

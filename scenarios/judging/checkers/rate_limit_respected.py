"""Never more than n per window, for each user of each limit (rule 12).

`policy.window` = {kind: sliding | fixed | bucket, n, per_s, (burst), (starts)}, as in scenarios/judging/windows.py.
Exercised by a user who was denied, or allowed n times within `per_s`: a user who never reaches the limit is no evidence.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.judging.windows import comes_to_the_limit, exceeded
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Users who were allowed too often."""
    figures = {
        "allowed": sum(map(len, history.allowed_ns.values())),
        "denied": sum(map(len, history.denied.values())),
    }
    if policy.window is None:
        undecided = "a limiter decided, but the policy states no window" if history.allowed_ns else ""
        return Findings(undecided=undecided, exercised=len(history.allowed_ns), figures=figures)
    violations = []
    exercised = len(history.denied)
    for (limit, user), instants in history.allowed_ns.items():
        exercised += (limit, user) not in history.denied and comes_to_the_limit(instants, policy.window)
        what = exceeded(instants, policy.window)
        if what:
            violations.append(Violation(user, Proof.EVENTS, f"limit {limit}: {what}"))
    return Findings(tuple(violations), exercised=exercised, figures={**figures, "over": len(violations)})

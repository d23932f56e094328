"""The reverse of a rate limit: no request is denied while the window has room (rule 25). The witness is the user.

Edges count as full. A fault on cache, database or network that overlapped the last `per_s` before the decision excuses it.
"""

from scenarios.judging.disturbances import cuts_limiter_off
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.judging.windows import Window, bounds, had_room
from scenarios.record.history import Event, History, earliest_ns


def check(history: History, policy: Policy) -> Findings:
    """Users who were denied although their window had room."""
    denied = sum(map(len, history.denied.values()))
    figures = {"denied": denied}
    if policy.window is None:
        undecided = "a limiter denied, but the policy states no window" if denied else ""
        return Findings(undecided=undecided, exercised=denied, figures=figures)
    violations = []
    for (limit, user), events in history.denied.items():
        allowed_ns = history.allowed_ns.get((limit, user), [])
        denied_ns = [event.t_ns for event in events]
        wrong = next((one for one in events if _is_wrong(history, allowed_ns, denied_ns, policy.window, one)), None)
        if wrong is not None:
            what = f"limit {limit}: denied at {wrong.t_ns / 1e9:.3g} s although the window had room"
            violations.append(Violation(user, Proof.RECORD, what))
    return Findings(tuple(violations), exercised=denied, figures={**figures, "wrong": len(violations)})


def _is_wrong(history: History, allowed: list[int], denied: list[int], window: Window, event: Event) -> bool:
    """Whether the decision was wrong at every instant between request and answer at which it can have been made."""
    since_ns, until_ns = earliest_ns(event), event.t_ns
    between = [instant for instant in allowed if since_ns < instant < until_ns]
    if not all(had_room(allowed, denied, window, instant) for instant in (since_ns, *between, until_ns)):
        return False
    _, per_ns = bounds(window)
    return not any(span.overlaps(since_ns - per_ns, until_ns) and cuts_limiter_off(span) for span in history.faults)

"""Never more than n per window, for each user of each limit (rule 12).

`policy.window` = {kind: sliding | fixed | bucket, n, per_s, (burst)}. Sliding: no span shorter than `per_s` holds more than n. Fixed:
windows begin at multiples of `per_s`. Bucket: `burst` tokens (n, where not stated) at first, n more every `per_s`, never over `burst`.
Exercised by a user who was denied, or let through n times within `per_s`: who never comes to the limit says nothing of it.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import NS_PER_S, History


def check(history: History, policy: Policy) -> Findings:
    """Users who were let through too often."""
    figures = {"allowed": sum(map(len, history.allowed_ns.values())), "denied": history.denied.total()}
    if policy.window is None:
        undecided = "a limiter decided, and the policy states no window" if history.allowed_ns else ""
        return Findings(undecided=undecided, exercised=len(history.allowed_ns), figures=figures)
    exceeded = _KINDS[str(policy.window["kind"])]
    violations = []
    exercised = len(history.denied)
    for (limit, user), instants in history.allowed_ns.items():
        exercised += (limit, user) not in history.denied and _comes_to_the_limit(instants, policy.window)
        what = exceeded(instants, policy.window)
        if what:
            violations.append(Violation(user, Proof.EVENTS, f"limit {limit}: {what}"))
    return Findings(tuple(violations), exercised=exercised, figures={**figures, "over": len(violations)})


def _comes_to_the_limit(instants: list[int], window: Mapping[str, object]) -> bool:
    n, per_ns = _bounds(window)
    return any(last - first < per_ns for first, last in zip(instants, instants[n - 1 :], strict=False))


def _sliding(instants: list[int], window: Mapping[str, object]) -> str:
    n, per_ns = _bounds(window)
    for first, last in zip(instants, instants[n:], strict=False):
        if last - first < per_ns:
            return f"{n + 1} allowed within {(last - first) / NS_PER_S:.3g} s"
    return ""


def _fixed(instants: list[int], window: Mapping[str, object]) -> str:
    n, per_ns = _bounds(window)
    number, most = Counter(instant // per_ns for instant in instants).most_common(1)[0]
    return f"{most} allowed in the window from {number * per_ns / NS_PER_S:g} s" if most > n else ""


def _bucket(instants: list[int], window: Mapping[str, object]) -> str:
    n, per_ns = _bounds(window)
    burst = window.get("burst")
    full = (
        int(burst) if isinstance(burst, int | float) else n
    ) * per_ns  # in parts of a token, so that no rounding decides
    level = full
    before = instants[0]
    for instant in instants:
        level = min(full, level + (instant - before) * n)
        before = instant
        if level < per_ns:
            return f"allowed at {instant / NS_PER_S:.3g} s with an empty bucket"
        level -= per_ns
    return ""


_KINDS: Mapping[str, Callable[[list[int], Mapping[str, object]], str]] = {
    "sliding": _sliding,
    "fixed": _fixed,
    "bucket": _bucket,
}


def _bounds(window: Mapping[str, object]) -> tuple[int, int]:
    n, per_s = window["n"], window["per_s"]
    assert isinstance(n, int), "a window's n is a whole number: the policy's reader checks it"
    assert isinstance(per_s, int | float), "a window's per_s is a number: the policy's reader checks it"
    return n, round(per_s * NS_PER_S)

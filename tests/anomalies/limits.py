"""Limits that are passed, and limits that refuse while there is room."""

from scenarios.judging.guarantees import Guarantee
from tests.anomalies.planting import UNTROUBLED_S, Expected, X, done
from tests.history_drafts import Draft


def over_the_limit(draft: Draft, at_s: float) -> Expected:
    """Four allowed at once, too many for any window."""
    for part in range(4):
        draft.write(f"{1000.2 + part / 10} api allowed limit=tasks user={X}")
    return {Guarantee.RATE_LIMIT_RESPECTED: (X,)}


def too_many_at_once(draft: Draft, at_s: float) -> Expected:
    """Three attempts of one scope at once where two are allowed."""
    at_s += UNTROUBLED_S
    tasks = (X, "second", "third")
    for number, task in enumerate(tasks):
        draft.submit(at_s, task, scope="x")
        draft.start(at_s + 1 + number, task, f"worker-{task}")
    for task in tasks:
        draft.add(at_s + 5, f"worker-{task}", "effect", task=task, attempt=1)
        draft.add(at_s + 5.1, f"worker-{task}", "attempt.ok", task=task, attempt=1)
        done(draft, task)
    return {Guarantee.CONCURRENCY_BOUNDED: ("x",)}


def too_many_in_a_second(draft: Draft, at_s: float) -> Expected:
    """Four starts of one scope within a second where three are allowed."""
    at_s += UNTROUBLED_S
    for number, task in enumerate((X, "second", "third", "fourth")):
        draft.submit(at_s, task, scope="x")
        start_s = at_s + 1 + number / 10
        draft.start(start_s, task, "worker-x")
        draft.add(start_s + 0.02, "worker-x", "effect", task=task, attempt=1)
        draft.add(start_s + 0.05, "worker-x", "attempt.ok", task=task, attempt=1)
        done(draft, task)
    return {Guarantee.EXECUTION_RATE_RESPECTED: ("x",)}


def denied_with_room(draft: Draft, at_s: float) -> Expected:
    """A user is denied although none of its requests was allowed before."""
    draft.add(1000.25, "api", "denied", limit="tasks", user=X)
    return {Guarantee.DENIED_ONLY_WHEN_FULL: (X,)}

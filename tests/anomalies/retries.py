"""Retries too soon, too late, too many, or never; recovery that takes too long."""

from scenarios.judging.guarantees import Guarantee
from tests.anomalies.planting import LATE_S, UNTROUBLED_S, Expected, X, done
from tests.history_drafts import Draft


def retry_too_soon(draft: Draft, at_s: float) -> Expected:
    """Retried without a delay, and no fault to blame."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.succeed(at_s + 1.5, X, "worker-x", 2)
    done(draft)
    return {Guarantee.RETRY_SCHEDULE: (X,)}


def retry_too_late(draft: Draft, at_s: float) -> Expected:
    """Retried long after the latest time of the policy, without a fault."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.succeed(at_s + 9, X, "worker-x", 2)
    done(draft)
    return {Guarantee.RETRY_SCHEDULE: (X,)}


def retry_in_vain(draft: Draft, at_s: float) -> Expected:
    """Started again after a permanent failure, and no fault to blame."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1, "permanent")
    draft.write(f"1.5 database dead {X} attempts=1 reason=permanent", from_s=at_s)
    draft.fail(at_s + 3, X, "worker-x", 2, "unknown")
    draft.lists["dead"].append(X)
    return {Guarantee.RETRY_SCHEDULE: (X,)}


def too_many_retries(draft: Draft, at_s: float) -> Expected:
    """A fourth attempt where three are allowed."""
    draft.submit(at_s, X)
    for number, start_s in enumerate((1, 2.8, 6.1, 10), start=1):
        draft.fail(at_s + start_s, X, "worker-x", number)
    draft.write(f"11 database dead {X} attempts=4 reason=exhausted", from_s=at_s)
    draft.lists["dead"].append(X)
    return {Guarantee.RETRY_SCHEDULE: (X,), Guarantee.POISON_BOUNDED: (X,)}


def poison_without_end(draft: Draft, at_s: float) -> Expected:
    """Kills its worker a fourth time."""
    draft.submit(at_s, X)
    for number in range(1, 5):
        draft.crash(at_s + 2 * number, X, f"worker-x{number}", number)
    draft.write(f"20 database dead {X} attempts=4 reason=poison", from_s=at_s)
    draft.lists["dead"].append(X)
    return {Guarantee.POISON_BOUNDED: (X,)}


def slow_to_recover(draft: Draft, at_s: float) -> Expected:
    """Still running after the end of the budget from healing."""
    draft.fault(430, 770 + at_s, "rabbitmq")
    draft.submit(430, X)
    draft.succeed(1771 + at_s, X, "worker-x")
    done(draft)
    return {Guarantee.RECOVERS_IN_TIME: (X,)}


def never_retried(draft: Draft, at_s: float) -> Expected:
    """Failed, and its retry is long due."""
    at_s += LATE_S
    draft.submit(at_s, X)
    draft.row(at_s + 0.9, X, "ACCEPTED", "RUNNING")
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.lists["pending"].append(X)
    return {Guarantee.RETRY_SCHEDULE: (X,), Guarantee.NO_STUCK_TASK: (X,)}


def never_recovered(draft: Draft, at_s: float) -> Expected:
    """Still pending long after the budget from the last healing."""
    draft.fault(430, 440 + at_s, "rabbitmq")
    draft.submit(430, X)
    draft.row(431, X, "ACCEPTED", "RUNNING")
    draft.crash(432, X, "worker-x", 1)
    draft.lists["pending"].append(X)
    return {Guarantee.RECOVERS_IN_TIME: (X,), Guarantee.NO_STUCK_TASK: (X,)}

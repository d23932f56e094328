"""Starts before or after their time, out of order, or at the cost of others; occurrences of a schedule."""

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import Schedule
from tests.anomalies.planting import LATE_S, UNTROUBLED_S, Expected, X, done
from tests.history_drafts import Draft, spawn


def starts_before_its_time(draft: Draft, at_s: float) -> Expected:
    """Scheduled, and started early."""
    draft.submit(at_s, X, due_s=at_s + 10)
    draft.succeed(at_s + 9, X, "worker-x")
    done(draft)
    return {Guarantee.NOT_BEFORE_DUE: (X,)}


def starts_long_after_its_time(draft: Draft, at_s: float) -> Expected:
    """Scheduled, and started late without a cause."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X, due_s=at_s + 2)
    draft.succeed(at_s + 5, X, "worker-x")
    done(draft)
    return {Guarantee.DUE_IN_TIME: (X,)}


def never_starts_at_its_time(draft: Draft, at_s: float) -> Expected:
    """Scheduled, and never started."""
    draft.submit(at_s + UNTROUBLED_S, X, due_s=at_s + UNTROUBLED_S + 5)
    return {Guarantee.DUE_IN_TIME: (X,), Guarantee.NO_LOST_TASK: (X,)}


def starved(draft: Draft, at_s: float) -> Expected:
    """Overtaken by more later tasks than the policy allows."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X, priority=0)
    for number in range(31):
        later = f"later-{number:02}"
        draft.submit(at_s + 1 + number / 10, later, priority=9)
        draft.succeed(at_s + 5 + number / 10, later, "worker-y")
        done(draft, later)
    draft.succeed(at_s + 20, X, "worker-x")
    done(draft)
    return {Guarantee.PRIORITY_BOUNDED: (X,)}


def order_turned_round(draft: Draft, at_s: float) -> Expected:
    """The second of one key starts first."""
    draft.submit(at_s, "first", order_key="x")
    draft.submit(at_s + 1, X, order_key="x")
    draft.succeed(at_s + 2, X, "worker-x")
    draft.succeed(at_s + 3, "first", "worker-y")
    done(draft)
    done(draft, "first")
    return {Guarantee.ORDER_KEPT: (X,)}


def waits_too_long(draft: Draft, at_s: float) -> Expected:
    """Started long after the maximum wait of its priority."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X, priority=1)
    draft.succeed(at_s + 301, X, "worker-x")
    done(draft)
    return {Guarantee.STARTS_IN_TIME: (X,)}


def waits_for_ever(draft: Draft, at_s: float) -> Expected:
    """Never started within its maximum wait."""
    at_s += LATE_S
    draft.submit(at_s, X, priority=1)
    draft.row(at_s + 1, X, "ACCEPTED", "RUNNING")
    draft.lists["pending"].append(X)
    return {Guarantee.STARTS_IN_TIME: (X,), Guarantee.NO_STUCK_TASK: (X,)}


def _schedule(draft: Draft, *dues_s: float) -> Expected:
    draft.schedules[X] = Schedule(every_s=10, since_s=1000, until_s=1030, catch_up="all")
    for number, due_s in enumerate(dues_s):
        spawn(draft, due_s + 0.1, f"occurrence-{number}", schedule=X, due_s=due_s)
    return {Guarantee.SCHEDULE_KEPT: (X,)}


def occurrence_missing(draft: Draft, at_s: float) -> Expected:
    """One of four occurrences never came, without a fault."""
    return _schedule(draft, 1000, 1010, 1030)


def occurrence_twice(draft: Draft, at_s: float) -> Expected:
    """Two schedulers both made the occurrence."""
    return _schedule(draft, 1000, 1010, 1010, 1020, 1030)


def occurrence_at_no_time(draft: Draft, at_s: float) -> Expected:
    """An occurrence that the schedule does not have."""
    return _schedule(draft, 1000, 1010, 1015, 1020, 1030)


def starved_for_ever(draft: Draft, at_s: float) -> Expected:
    """Overtaken by more tasks than the policy allows, and never started."""
    at_s += LATE_S
    draft.submit(at_s, X, priority=0)
    draft.row(at_s + 1, X, "ACCEPTED", "RUNNING")
    for number in range(31):
        later = f"later-{number:02}"
        draft.submit(at_s + 1 + number / 10, later, priority=9)
        draft.succeed(at_s + 5 + number / 10, later, "worker-y")
        done(draft, later)
    draft.lists["pending"].append(X)
    return {Guarantee.PRIORITY_BOUNDED: (X,), Guarantee.NO_STUCK_TASK: (X,)}

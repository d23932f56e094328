"""What a client, a log or a list is told, and is not so."""

from scenarios.judging.guarantees import Guarantee
from tests.anomalies.planting import UNTROUBLED_S, Expected, X, done, succeeded_with_rows
from tests.history_drafts import Draft


def progress_goes_back(draft: Draft, at_s: float) -> Expected:
    """The reported progress decreases."""
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x")
    for number, percent in enumerate((20, 60, 30)):
        draft.add(at_s + 1.01 + number / 100, "worker-x", "progress", task=X, attempt=1, percent=percent)
    done(draft)
    return {Guarantee.PROGRESS_MONOTONIC: (X,)}


def status_goes_back(draft: Draft, at_s: float) -> Expected:
    """Succeeded, then running again."""
    succeeded_with_rows(draft, at_s)
    draft.write(f"3 reader status {X} state=SUCCEEDED", f"4 reader status {X} state=RUNNING", from_s=at_s)
    return {Guarantee.STATUS_TRUTHFUL: (X,)}


def status_contradicted(draft: Draft, at_s: float) -> Expected:
    """A client read that it was cancelled, and the account says done."""
    succeeded_with_rows(draft, at_s)
    draft.write(f"3 reader status {X} state=CANCELLED", from_s=at_s)
    return {Guarantee.STATUS_TRUTHFUL: (X,)}


def status_ahead_of_its_row(draft: Draft, at_s: float) -> Expected:
    """Read as succeeded before its row."""
    draft.submit(at_s, X, "fail")
    draft.write(
        f"""
        1  reader    status  {X}  state=EXPIRED
        2  database  state   {X}  to=ACCEPTED
        3  database  state   {X}  from=ACCEPTED  to=EXPIRED
        """,
        from_s=at_s,
    )
    draft.lists["expired"].append(X)
    return {Guarantee.STATUS_TRUTHFUL: (X,)}


def secret_in_a_log(draft: Draft, at_s: float) -> Expected:
    """A canary of a payload appears in a log."""
    draft.write(f"0 lab secret.found {X} target=worker.log", from_s=at_s)
    return {Guarantee.NOTHING_LEAKED: (X,)}


def ended_and_not_listed(draft: Draft, at_s: float) -> Expected:
    """Ran and ended, but is not in the system's own list."""
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x")
    return {Guarantee.OUTCOME_REPORTED: (X,)}


def ended_and_read_as_running(draft: Draft, at_s: float) -> Expected:
    """Listed as done, but clients read another state permanently."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x")
    draft.add(at_s + 1002, "reader", "status", task=X, state="RUNNING")
    done(draft)
    return {Guarantee.OUTCOME_REPORTED: (X,)}


def result_of_another(draft: Draft, at_s: float) -> Expected:
    """A client read a result that no attempt returned."""
    draft.submit(at_s, X)
    draft.row(at_s + 0.9, X, "ACCEPTED", "RUNNING")
    draft.succeed(at_s + 1, X, "worker-x")
    draft.row(at_s + 1.4, X, "RUNNING", "SUCCEEDED")
    draft.add(at_s + 2, "reader", "status", task=X, state="SUCCEEDED", result="result of another")
    done(draft)
    return {Guarantee.RESULT_TRUTHFUL: (X,)}


def done_before_the_work(draft: Draft, at_s: float) -> Expected:
    """A client read SUCCEEDED before the task had any effect."""
    draft.submit(at_s, X)
    draft.row(at_s + 0.8, X, "ACCEPTED", "RUNNING")
    draft.row(at_s + 0.9, X, "RUNNING", "SUCCEEDED")
    draft.add(at_s + 1, "reader", "status", task=X, state="SUCCEEDED")
    draft.succeed(at_s + 2, X, "worker-x")
    done(draft)
    return {Guarantee.STATUS_TRUTHFUL: (X,)}

"""Rows of the audit trail that contradict the life cycle or the messages."""

from scenarios.judging.guarantees import Guarantee
from tests.anomalies.planting import LATE_S, Expected, X, done, write_rows
from tests.history_drafts import Draft


def skips_running(draft: Draft, at_s: float) -> Expected:
    """From ACCEPTED to SUCCEEDED in one transition."""
    write_rows(draft, at_s, "ACCEPTED", "SUCCEEDED")
    return {Guarantee.LEGAL_TRANSITIONS: (X,)}


def leaves_a_final_state(draft: Draft, at_s: float) -> Expected:
    """A late failure overwrites a success."""
    write_rows(draft, at_s, "ACCEPTED", "RUNNING", "SUCCEEDED", "RETRYING")
    return {Guarantee.LEGAL_TRANSITIONS: (X,)}


def row_overwritten(draft: Draft, at_s: float) -> Expected:
    """A transition from a state that the task was no longer in."""
    write_rows(draft, at_s, "ACCEPTED", "RUNNING", "SUCCEEDED")
    draft.write(f"50 database state {X} from=RUNNING to=SUCCEEDED", from_s=at_s)
    return {Guarantee.LEGAL_TRANSITIONS: (X,)}


def leaves_dead_by_itself(draft: Draft, at_s: float) -> Expected:
    """Leaves DEAD without a redrive."""
    write_rows(draft, at_s, "ACCEPTED", "RUNNING", "DEAD", "ACCEPTED", "RUNNING", "SUCCEEDED")
    draft.add(at_s + 3, "database", "dead", task=X, attempts=1, reason="poison")
    return {Guarantee.LEGAL_TRANSITIONS: (X,)}


def row_without_message(draft: Draft, at_s: float) -> Expected:
    """Its row exists, but there was never a message."""
    at_s += LATE_S
    draft.submit(at_s, X)
    draft.lists["pending"].append(X)
    return {Guarantee.OUTBOX_ATOMIC: (X,), Guarantee.NO_STUCK_TASK: (X,)}


def message_without_row(draft: Draft, at_s: float) -> Expected:
    """It ran, although its transaction had been rolled back."""
    draft.write(f"0 client submit.invoke {X}", f"0.1 client submit.info {X}", from_s=at_s)
    draft.succeed(at_s + 1, X, "worker-x")
    done(draft)
    return {Guarantee.OUTBOX_ATOMIC: (X,)}

"""Dead letters that are wrong, missing or double, and tasks buried for no reason."""

from scenarios.judging.guarantees import Guarantee
from tests.anomalies.planting import UNTROUBLED_S, Expected, X, done, write_rows
from tests.history_drafts import Draft


def dead_too_early(draft: Draft, at_s: float) -> Expected:
    """Dead as exhausted with attempts left."""
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.write(f"2 database dead {X} attempts=1 reason=exhausted", from_s=at_s)
    draft.lists["dead"].append(X)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dead_letter_missing(draft: Draft, at_s: float) -> Expected:
    """A permanent error without a dead letter."""
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1, "permanent")
    draft.write(f"1.2 worker-x effect {X}", from_s=at_s)
    done(draft)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dead_letter_missing_after_all_attempts(draft: Draft, at_s: float) -> Expected:
    """Three failures of three attempts without a dead letter."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.fail(at_s + 2.8, X, "worker-x", 2)
    draft.fail(at_s + 6.1, X, "worker-x", 3)
    draft.write(f"6.2 worker-x effect {X}", from_s=at_s)
    done(draft)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dead_and_done(draft: Draft, at_s: float) -> Expected:
    """Dead and done at once."""
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.succeed(at_s + 2.8, X, "worker-x", 2)
    draft.write(f"4 database dead {X} attempts=3 reason=poison", from_s=at_s)
    draft.lists["dead"].append(X)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def buried_by_the_list(draft: Draft, at_s: float) -> Expected:
    """Its worker crashed once, and the system lists it as dead."""
    draft.submit(at_s, X)
    draft.crash(at_s + 1, X, "worker-x", 1)
    draft.lists["dead"].append(X)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dropped_and_listed_as_dead(draft: Draft, at_s: float) -> Expected:
    """Never ran, and is listed as dead."""
    draft.submit(at_s, X)
    draft.lists["dead"].append(X)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dead_without_a_letter(draft: Draft, at_s: float) -> Expected:
    """Another task has a dead letter; this one has only a row DEAD."""
    write_rows(draft, at_s, "ACCEPTED", "RUNNING", "DEAD")
    draft.submit(at_s, "told")
    draft.row(at_s + 1, "told", "ACCEPTED", "DEAD")
    draft.add(at_s + 1, "database", "dead", task="told", attempts=0, reason="permanent")
    draft.lists["dead"].append("told")
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dead_with_two_letters(draft: Draft, at_s: float) -> Expected:
    """One transition to DEAD, but two dead letters."""
    write_rows(draft, at_s, "ACCEPTED", "RUNNING", "DEAD")
    for part in (3, 4):
        draft.add(at_s + part, "database", "dead", task=X, attempts=1, reason="poison")
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}

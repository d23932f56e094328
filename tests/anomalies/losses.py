"""Tasks that are lost, stuck, or were never submitted."""

from scenarios.judging.guarantees import Guarantee
from tests.anomalies.planting import LATE_S, Expected, X, done
from tests.history_drafts import Draft, spawn


def lost(draft: Draft, at_s: float) -> Expected:
    """Acknowledged, and then no further event."""
    draft.submit(at_s, X)
    return {Guarantee.NO_LOST_TASK: (X,)}


def lost_after_a_crash(draft: Draft, at_s: float) -> Expected:
    """Its worker crashed, and no other worker took it over."""
    draft.submit(at_s, X)
    draft.crash(at_s + 1, X, "worker-x", 1)
    return {Guarantee.NO_LOST_TASK: (X,)}


def one_lost_one_doubled(draft: Draft, at_s: float) -> Expected:
    """The counts balance, but one task is lost and another ran twice."""
    draft.submit(at_s, X)
    draft.submit(at_s, "doubled")
    draft.succeed(at_s + 1, "doubled", "worker-x")
    draft.write("1.25 worker-x effect doubled fence=1", from_s=at_s)
    done(draft, "doubled")
    doubled = ("doubled",)
    return {
        Guarantee.NO_LOST_TASK: (X,),
        Guarantee.EXACTLY_ONE_EFFECT: doubled,
        Guarantee.EFFECT_AT_MOST_ONCE: doubled,
    }


def stuck(draft: Draft, at_s: float) -> Expected:
    """Still pending at the end, after its worker crashed."""
    at_s += LATE_S
    draft.submit(at_s, X)
    draft.row(at_s + 0.9, X, "ACCEPTED", "RUNNING")
    draft.crash(at_s + 1, X, "worker-x", 1)
    draft.lists["pending"].append(X)
    return {Guarantee.NO_STUCK_TASK: (X,)}


def stuck_unacknowledged(draft: Draft, at_s: float) -> Expected:
    """Accepted without an answer, and still waiting."""
    at_s += LATE_S
    draft.submit(at_s, X, "info")
    draft.row(at_s + 1, X, "ACCEPTED", "RUNNING")
    draft.lists["pending"].append(X)
    return {Guarantee.NO_STUCK_TASK: (X,)}


def phantom(draft: Draft, at_s: float) -> Expected:
    """Ran, but no client had submitted it."""
    draft.row(at_s, X, None, "ACCEPTED")
    draft.succeed(at_s, X, "worker-x")
    done(draft)
    return {Guarantee.NO_PHANTOM_TASK: (X,)}


def child_never_made(draft: Draft, at_s: float) -> Expected:
    """Done, and one of the two tasks that it demanded was never heard of."""
    draft.submit(at_s, "demanding")
    draft.row(at_s + 0.9, "demanding", "ACCEPTED", "RUNNING")
    draft.start(at_s + 1, "demanding", "worker-x")
    draft.add(at_s + 1.2, "worker-x", "effect", task="demanding", attempt=1)
    draft.add(at_s + 1.3, "worker-x", "attempt.ok", task="demanding", attempt=1, children=("made", X))
    draft.row(at_s + 1.4, "demanding", "RUNNING", "SUCCEEDED")
    done(draft, "demanding")
    spawn(draft, at_s + 2, "made", parent="demanding")
    return {Guarantee.NO_LOST_TASK: (X,)}


def effect_beyond(draft: Draft, at_s: float) -> Expected:
    """It has an effect of a step that its submission did not state."""
    draft.submit(at_s, X, steps=1)
    draft.row(at_s + 0.9, X, "ACCEPTED", "RUNNING")
    draft.succeed(at_s + 1, X, "worker-x")
    draft.write(f"1.25 worker-x effect {X} step=2 fence=1", from_s=at_s)
    draft.row(at_s + 1.4, X, "RUNNING", "SUCCEEDED")
    done(draft)
    return {Guarantee.NO_PHANTOM_TASK: (X,)}


def resurrected(draft: Draft, at_s: float) -> Expected:
    """Its submission failed, and yet it ran."""
    draft.row(at_s, X, None, "ACCEPTED")
    draft.submit(at_s, X, "fail")
    draft.succeed(at_s + 1, X, "worker-x")
    done(draft)
    return {Guarantee.NO_PHANTOM_TASK: (X,)}

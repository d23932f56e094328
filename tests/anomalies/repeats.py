"""Effects that are missing or twice, repeats for no reason, stale holders."""

from scenarios.judging.guarantees import Guarantee
from tests.anomalies.planting import UNTROUBLED_S, Expected, X, done
from tests.history_drafts import Draft


def effect_missing(draft: Draft, at_s: float) -> Expected:
    """Listed as done, but without any effect."""
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x", effect=False)
    done(draft)
    return {Guarantee.EXACTLY_ONE_EFFECT: (X,)}


def effect_twice(draft: Draft, at_s: float) -> Expected:
    """A lost ack explains the repeat, but nothing explains the second effect."""
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x", 1, ack="info")
    draft.succeed(at_s + 3, X, "worker-y", 2)
    done(draft)
    return {Guarantee.EXACTLY_ONE_EFFECT: (X,), Guarantee.EFFECT_AT_MOST_ONCE: (X,)}


def repeat_after_confirmed_ack(draft: Draft, at_s: float) -> Expected:
    """Delivered again although its ack had arrived."""
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x", 1)
    draft.succeed(at_s + 3, X, "worker-y", 2, effect=False)
    done(draft)
    return {Guarantee.DUPLICATES_EXPLAINED: (X,)}


def repeat_after_anothers_crash(draft: Draft, at_s: float) -> Expected:
    """Another worker crashed, not the one of this task."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.start(at_s + 1, X, "worker-x", 1)
    draft.write("1.5 worker-y crash", from_s=at_s)
    draft.succeed(at_s + 3, X, "worker-z", 2)
    done(draft)
    return {Guarantee.DUPLICATES_EXPLAINED: (X,)}


def repeat_under_a_valid_lease(draft: Draft, at_s: float) -> Expected:
    """Taken over before its lease expired, by a worker that did not acquire the lease."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.write(f"0.9 worker-x lease.acquired resource={X} fence=1 ttl_s=30", from_s=at_s)
    draft.start(at_s + 1, X, "worker-x", 1)
    draft.succeed(at_s + 3, X, "worker-y", 2)
    done(draft)
    return {Guarantee.DUPLICATES_EXPLAINED: (X,)}


def lease_never_renewed(draft: Draft, at_s: float) -> Expected:
    """Works long, and its lease is not renewed."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.add(at_s + 0.9, "worker-x", "lease.acquired", resource=X, fence=1, ttl_s=1)
    draft.start(at_s + 1, X, "worker-x")
    draft.add(at_s + 20, "worker-x", "effect", task=X, attempt=1, fence=1)
    draft.add(at_s + 20.1, "worker-x", "attempt.ok", task=X, attempt=1)
    done(draft)
    return {Guarantee.LEASE_KEPT: (X,)}


def two_holders(draft: Draft, at_s: float) -> Expected:
    """A lease acquired before that of another holder expired."""
    draft.write(
        f"""
        0  leader-x  lease.acquired  resource={X}  fence=1  ttl_s=5
        3  leader-x  lease.renewed   resource={X}  fence=1  ttl_s=5
        6  leader-y  lease.acquired  resource={X}  fence=2  ttl_s=5
        """,
        from_s=at_s,
    )
    return {Guarantee.SINGLE_HOLDER: (X,)}


def renewed_after_it_was_lost(draft: Draft, at_s: float) -> Expected:
    """A zombie renews a lease that another holder has acquired."""
    draft.write(
        f"""
        0  leader-x  lease.acquired  resource={X}  fence=1  ttl_s=5
        6  leader-y  lease.acquired  resource={X}  fence=2  ttl_s=5
        7  leader-x  lease.renewed   resource={X}  fence=1  ttl_s=5
        """,
        from_s=at_s,
    )
    return {Guarantee.SINGLE_HOLDER: (X,)}


def stale_write(draft: Draft, at_s: float) -> Expected:
    """A paused holder writes late, and the write is accepted."""
    draft.write(
        f"""
        0  leader-x  write  resource={X}  fence=1
        1  leader-y  write  resource={X}  fence=2
        2  leader-x  write  resource={X}  fence=1
        """,
        from_s=at_s,
    )
    return {Guarantee.FENCED_WRITES: (X,)}


def stale_effect(draft: Draft, at_s: float) -> Expected:
    """A zombie's effect of another step, after the new attempt's."""
    draft.submit(at_s, X)
    draft.start(at_s + 1, X, "worker-x", 1)
    draft.write("1.1 worker-x crash", from_s=at_s)
    draft.succeed(at_s + 3, X, "worker-y", 2)
    draft.write(f"3.5 worker-x effect {X} step=2 fence=1", from_s=at_s)
    done(draft)
    return {Guarantee.FENCED_WRITES: (X,)}

"""How far a running attempt is: fast state in Redis, nice to have, never a fact."""

from collections.abc import Mapping

from reference_impl.errors import CacheUnavailable
from reference_impl.ports import Cache, Entropy

STEP_CHARACTERS_MAX = 200


def report_progress(
    cache: Cache, entropy: Entropy, task_id: str, *, attempt: int, step: str, percent: int, expiry_s: float
) -> bool:
    """Whether it was written. A cache that is down costs the progress, not the attempt.

    The expiry is stretched by up to a tenth, so that what was written together does not vanish together. Of a long step only the
    beginning is kept.
    """
    kept = step[:STEP_CHARACTERS_MAX].encode(errors="replace").decode()
    try:
        cache.write_progress(
            task_id,
            {"attempt": attempt, "step": kept, "percent": percent},
            expiry_s=expiry_s * entropy.uniform(1.0, 1.1),
        )
    except CacheUnavailable:
        return False
    return True


def read_progress(cache: Cache, task_id: str) -> Mapping[str, str] | None:
    """What was last reported, or None, also when the cache is down."""
    try:
        return cache.read_progress(task_id)
    except CacheUnavailable:
        return None

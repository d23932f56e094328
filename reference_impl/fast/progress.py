"""Progress of a running attempt: kept in Redis only, may be lost, and no decision depends on it."""

from collections.abc import Mapping

from reference_impl.errors import CacheUnavailable
from reference_impl.ports import Cache, Entropy

STEP_CHARACTERS_MAX = 200


def report_progress(
    cache: Cache, entropy: Entropy, task_id: str, *, attempt: int, step: str, percent: int, expiry_s: float
) -> bool:
    """Write the progress; False: the cache is down, and the attempt goes on without the report.

    The expiry is lengthened by up to 10 %, so that entries written together do not all expire together. A long step is truncated.
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
    """The latest report; None if there is none or the cache is down."""
    try:
        return cache.read_progress(task_id)
    except CacheUnavailable:
        return None

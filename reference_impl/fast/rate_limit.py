"""Limit on new tasks per user: counted in Redis, with one atomic call per submission."""

from dataclasses import dataclass

from reference_impl.errors import CacheUnavailable, RateLimited
from reference_impl.ports import Cache


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `n_max` per fixed window of `window_s`; windows begin at multiples of `window_s` by Redis's clock."""

    name: str
    n_max: int
    window_s: float


def check_limit(cache: Cache, limit: Limit, subject: str) -> bool:
    """Count one event against the limit; False: Redis is down and the limit was not checked.

    Fails open: refusing all submissions during a Redis failover would do more harm than a few too many tasks.

    Raises:
        RateLimited: the limit of this window has been reached.
    """
    try:
        retry_after_s = cache.count_in_window(limit.name, subject, n_max=limit.n_max, window_s=limit.window_s)
    except CacheUnavailable:
        return False
    if retry_after_s is not None:
        raise RateLimited(retry_after_s)
    return True

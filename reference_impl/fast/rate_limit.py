"""How many new tasks a user may submit: counted in Redis, one atomic call a submission."""

from dataclasses import dataclass

from reference_impl.errors import CacheUnavailable, RateLimited
from reference_impl.ports import Cache


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `n_max` in each fixed window of `window_s`; windows begin at multiples of it by Redis's own clock."""

    name: str
    n_max: int
    window_s: float


def check_limit(cache: Cache, limit: Limit, subject: str) -> bool:
    """Whether the limit could be checked; when Redis is down submissions go on unlimited, and the caller counts it.

    Open, because a limit protects against excess, and refusing everybody's work when Redis fails over would be the greater harm.

    Raises:
        RateLimited: the window is full.
    """
    try:
        retry_after_s = cache.count_in_window(limit.name, subject, n_max=limit.n_max, window_s=limit.window_s)
    except CacheUnavailable:
        return False
    if retry_after_s is not None:
        raise RateLimited(retry_after_s)
    return True

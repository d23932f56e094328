"""The lock is released with a bare DEL: a leader that was away takes the lock from its successor, and a third one leads as well."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reference_impl.bootstrap import Parts
from reference_impl.ports import Cache
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant


class CarelessCache:
    """A reference_impl.ports.Cache on top of another, that does not ask whose lock it releases."""

    def __init__(self, cache: Cache) -> None:
        self._cache: Any = cache

    def write_progress(self, task_id: str, fields: Mapping[str, str | int], *, expiry_s: float) -> None:
        """See reference_impl.ports.Cache."""
        self._cache.write_progress(task_id, fields, expiry_s=expiry_s)

    def read_progress(self, task_id: str) -> Mapping[str, str] | None:
        """See reference_impl.ports.Cache."""
        progress: Mapping[str, str] | None = self._cache.read_progress(task_id)
        return progress

    def acquire_lock(self, name: str, owner: str, *, ttl_s: float, fence_above: int) -> int | None:
        """See reference_impl.ports.Cache."""
        fence: int | None = self._cache.acquire_lock(name, owner, ttl_s=ttl_s, fence_above=fence_above)
        return fence

    def renew_lock(self, name: str, owner: str, *, ttl_s: float) -> bool:
        """See reference_impl.ports.Cache."""
        renewed: bool = self._cache.renew_lock(name, owner, ttl_s=ttl_s)
        return renewed

    def release_lock(self, name: str, owner: str) -> bool:
        """Whoever it belongs to."""
        self._cache.delete_lock(name)
        return True

    def count_in_window(self, limit: str, subject: str, *, n_max: int, window_s: float) -> float | None:
        """See reference_impl.ports.Cache."""
        wait_s: float | None = self._cache.count_in_window(limit, subject, n_max=n_max, window_s=window_s)
        return wait_s

    def ping(self) -> None:
        """See reference_impl.ports.Cache."""
        self._cache.ping()


def alter(parts: Parts) -> Parts:
    """With that cache between."""
    return replace(parts, cache=CarelessCache(parts.cache))


system = Mutant(
    name="lock_released_by_anybody",
    defect="a lock is released without a look at whose it is",
    expected=(Guarantee.SINGLE_HOLDER,),
    alter=alter,
)

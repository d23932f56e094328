"""An observer that notes what leases and locks look like to their holders, and a runtime with it."""

from typing import Any

from reference_impl.runtime import Runtime
from tests.unit.reference.reference_world import StopsAfter, World


class Watcher:
    """Notes what leases and locks look like to their holders."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def claimed(self, claim: Any, ttl_s: float) -> None:
        self.seen.append(("claimed", claim.fence, round(ttl_s, 3)))

    def claim_renewed(self, claim: Any, ttl_s: float) -> None:
        self.seen.append(("renewed", claim.fence, round(ttl_s, 3)))

    def lock_acquired(self, name: str, fence: int, ttl_s: float) -> None:
        self.seen.append(("locked", fence, round(ttl_s, 3)))

    def lock_renewed(self, name: str, fence: int, ttl_s: float) -> None:
        self.seen.append(("lock renewed", fence, round(ttl_s, 3)))

    def lock_released(self, name: str, fence: int) -> None:
        self.seen.append(("released", fence))


def runtime(world: World, watcher: Watcher, *, rests: int = 10**9) -> Runtime:
    return Runtime("worker-1", world.time, world.names, StopsAfter(world.time, rests), watcher)  # type: ignore[arg-type]

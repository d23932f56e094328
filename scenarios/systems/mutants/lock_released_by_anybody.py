"""Defect: the lock is released by a bare DEL. A former leader deletes its successor's lock, and a third process leads as well."""

from dataclasses import replace
from typing import cast

from reference_impl.components import Components
from reference_impl.ports import Cache
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Delegate, Mutant


class UncheckedReleaseCache(Delegate):
    """A cache that does not check the owner when a lock is released."""

    def release_lock(self, name: str, owner: str) -> bool:
        """Delete the lock, regardless of its owner."""
        self.inner.delete_lock(name)
        return True


def patch(components: Components) -> Components:
    """Put that cache in front of the real one."""
    return replace(components, cache=cast(Cache, UncheckedReleaseCache(components.cache)))


system = Mutant(
    name="lock_released_by_anybody",
    defect="a lock is released without checking its owner",
    expected=(Guarantee.SINGLE_HOLDER,),
    patch=patch,
)

"""A distributed lock in Redis with a fencing token that the database checks (R7).

Guaranteed while Redis keeps its data: one holder at a time, until at most `ttl_s` after the holder's last renewal.
Not guaranteed after a failover: replication is asynchronous, the new primary may not have the lock, and a second process can acquire
it. So the lock only prevents duplicate work; the fence, checked in the database, protects the data.
"""

import contextlib
from dataclasses import dataclass

from sqlalchemy import BigInteger, Connection, Engine, String, and_, bindparam, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from reference_impl.errors import CacheUnavailable
from reference_impl.ports import Cache
from reference_impl.rows.schema import fences
from reference_impl.rows.transactions import read, transact
from reference_impl.runtime import Runtime


@dataclass(slots=True)
class HeldLock:
    """A lock as seen by its holder; `held_until_s` on the holder's monotonic clock is never later than the real expiry."""

    name: str
    owner: str
    fence: int
    held_until_s: float


def acquire(runtime: Runtime, engine: Engine, cache: Cache, name: str, *, ttl_s: float) -> HeldLock | None:
    """The lock, or None if another process holds it.

    Raises:
        CacheUnavailable: Redis did not answer.
        DatabaseError: as `transact`.
    """
    seen = _seen_fence(engine, name)
    owner = f"{runtime.name}/{runtime.entropy.identifier()}"  # unique to this acquisition, also across restarts
    asked_s = runtime.clock.monotonic_s()
    fence = cache.acquire_lock(name, owner, ttl_s=ttl_s, fence_above=seen)
    if fence is None:
        return None
    lock = HeldLock(name, owner, fence, asked_s + ttl_s)
    left_s = lock.held_until_s - runtime.clock.monotonic_s()
    if left_s <= 0:
        return None  # this process was suspended for longer than the lock lasts: the lock has expired
    runtime.observer.lock_acquired(name, fence, left_s)
    return lock


def renew(runtime: Runtime, cache: Cache, lock: HeldLock, *, ttl_s: float) -> bool:
    """Extend the lock to `ttl_s` from now; False: it is lost. If Redis does not answer, the lock stays held until its old expiry."""
    asked_s = runtime.clock.monotonic_s()
    try:
        ours = cache.renew_lock(lock.name, lock.owner, ttl_s=ttl_s)
    except CacheUnavailable:
        return runtime.clock.monotonic_s() < lock.held_until_s
    if not ours:
        return False
    lock.held_until_s = asked_s + ttl_s
    left_s = lock.held_until_s - runtime.clock.monotonic_s()
    if left_s <= 0:
        return False
    runtime.observer.lock_renewed(lock.name, lock.fence, left_s)
    return True


def release(runtime: Runtime, cache: Cache, lock: HeldLock) -> None:
    """Release the lock. If Redis does not answer, the lock expires by itself."""
    runtime.observer.lock_released(lock.name, lock.fence)
    with contextlib.suppress(CacheUnavailable):
        cache.release_lock(lock.name, lock.owner)


_ACCEPTED = select(fences.c.fence).where(fences.c.name == bindparam("named"))
_INSERT = insert(fences).values(name=bindparam("named"), fence=0, owner="")
_NEW_FENCE, _NEW_OWNER = bindparam("new_fence", type_=BigInteger), bindparam("new_owner", type_=String)
_TAKE = (
    update(fences)
    .where(
        fences.c.name == bindparam("named"),
        or_(fences.c.fence < _NEW_FENCE, and_(fences.c.fence == _NEW_FENCE, fences.c.owner == _NEW_OWNER)),
    )
    .values(fence=_NEW_FENCE, owner=_NEW_OWNER)
)


def accepted_fence(connection: Connection, name: str) -> int:
    """The greatest fence under which the database has accepted a write; 0 if there is none."""
    return connection.scalar(_ACCEPTED, {"named": name}) or 0


def is_current(connection: Connection, name: str, *, fence: int, owner: str) -> bool:
    """Whether this transaction may write under this fence: False if the database has accepted a newer one.

    After a failover two holders may have the same fence; then the first of them to write keeps it.
    """
    return connection.execute(_TAKE, {"named": name, "new_fence": fence, "new_owner": owner}).rowcount == 1


def _seen_fence(engine: Engine, name: str) -> int:
    """The greatest accepted fence. For a new lock, insert the row that `is_current` updates."""

    def read_or_insert(connection: Connection) -> int:
        fence: int | None = connection.scalar(_ACCEPTED, {"named": name})
        if fence is None:
            connection.execute(_INSERT, {"named": name})
        return fence or 0

    try:
        return transact(engine, read_or_insert)
    except IntegrityError:  # another process has inserted the row meanwhile
        return read(engine, lambda connection: accepted_fence(connection, name))

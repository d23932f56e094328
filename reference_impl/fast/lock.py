"""A distributed lock in Redis with a fencing token that the database checks (R7).

What it promises: while Redis keeps its data, one holder at a time, and never longer than `ttl_s` after the holder fell silent.
What it does not: after a failover of an asynchronously replicated Redis the new primary may not know of the lock, and then two
believe to hold it. So the lock only keeps others from useless work; what protects the data is the fence, in the database.
"""

from dataclasses import dataclass

from sqlalchemy import BigInteger, Connection, Engine, String, and_, bindparam, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from reference_impl.errors import CacheUnavailable
from reference_impl.ports import Cache, Runtime
from reference_impl.rows.schema import fences
from reference_impl.rows.transactions import read, transact


@dataclass(slots=True)
class HeldLock:
    """A lock as its holder knows it; `held_until_s` on the holder's monotonic clock errs on the safe side."""

    name: str
    owner: str
    fence: int
    held_until_s: float


def acquire(runtime: Runtime, engine: Engine, cache: Cache, name: str, *, ttl_s: float) -> HeldLock | None:
    """The lock, or None if somebody else has it.

    Raises:
        CacheUnavailable: Redis did not answer.
        DatabaseError: as `transact`.
    """
    seen = _seen_fence(engine, name)
    owner = f"{runtime.name}/{runtime.entropy.identifier()}"  # another at every acquisition, also after a restart
    asked_s = runtime.clock.monotonic_s()
    fence = cache.acquire_lock(name, owner, ttl_s=ttl_s, fence_above=seen)
    if fence is None:
        return None
    lock = HeldLock(name, owner, fence, asked_s + ttl_s)
    left_s = lock.held_until_s - runtime.clock.monotonic_s()
    if left_s <= 0:
        return None  # this process was away for longer than the lock lasts: it is not ours any more
    runtime.observer.lock_acquired(name, fence, left_s)
    return lock


def renew(runtime: Runtime, cache: Cache, lock: HeldLock, *, ttl_s: float) -> bool:
    """Whether it is still ours, now for another `ttl_s`. Redis not answering means: as long as it was ours already."""
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
    """Give it up; where Redis does not answer it runs out by itself."""
    runtime.observer.lock_released(lock.name, lock.fence)
    try:
        cache.release_lock(lock.name, lock.owner)
    except CacheUnavailable:
        return


_ACCEPTED = select(fences.c.fence).where(fences.c.name == bindparam("named"))
_MAKE = insert(fences).values(name=bindparam("named"), fence=0, owner="")
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
    """The greatest fence under which the database has accepted a write; 0 if none."""
    return connection.scalar(_ACCEPTED, {"named": name}) or 0


def is_current(connection: Connection, name: str, *, fence: int, owner: str) -> bool:
    """Whether a write under this fence may go on in this transaction: no newer one was accepted before.

    Two holders may bear the same fence after a failover; the first of them to write here keeps it.
    """
    return connection.execute(_TAKE, {"named": name, "new_fence": fence, "new_owner": owner}).rowcount == 1


def _seen_fence(engine: Engine, name: str) -> int:
    """The greatest accepted fence; where this lock is a new one, its row is made, which `is_current` works on."""

    def look_or_make(connection: Connection) -> int:
        fence: int | None = connection.scalar(_ACCEPTED, {"named": name})
        if fence is None:
            connection.execute(_MAKE, {"named": name})
        return fence or 0

    try:
        return transact(engine, look_or_make)
    except IntegrityError:  # another process made it in the meantime
        return read(engine, lambda connection: accepted_fence(connection, name))

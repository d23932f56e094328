"""The leader's lock: its holder never assumes it for too long, and the database's fence decides about its writes."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.adapters.memory import MemoryCache
from reference_impl.errors import CacheUnavailable
from reference_impl.fast import lock
from reference_impl.rows import schema
from reference_impl.rows.transactions import transact
from tests.unit.reference.lease_watcher import Watcher, runtime
from tests.unit.reference.reference_world import SETTINGS, Time, World


class AwayCache:
    """Redis is down from some call on."""

    def __init__(self, cache: MemoryCache, *, after: int = 0) -> None:
        self._cache = cache
        self._left = after

    def __getattr__(self, name: str) -> Any:
        if self._left == 0:
            raise CacheUnavailable("away")
        self._left -= 1
        return getattr(self._cache, name)


def acquire(world: World, watcher: Watcher, *, cache: Any = None, ttl_s: float = 5.0) -> Any:
    return lock.acquire(runtime(world, watcher), world.engine, cache or world.cache, "sweep", ttl_s=ttl_s)


class SlowCache:
    """Redis takes its time to answer."""

    def __init__(self, cache: MemoryCache, time: Time, after_s: float) -> None:
        self._cache = cache
        self._time = time
        self._after_s = after_s

    def acquire_lock(self, *given: Any, **options: Any) -> Any:
        answer = self._cache.acquire_lock(*given, **options)
        self._time.pass_(self._after_s)
        return answer

    def renew_lock(self, *given: Any, **options: Any) -> Any:
        answer = self._cache.renew_lock(*given, **options)
        self._time.pass_(self._after_s)
        return answer


def test_a_lock_counts_from_before_it_was_asked_for(world: World) -> None:
    """R7."""
    watcher = Watcher()

    held = acquire(world, watcher, cache=SlowCache(world.cache, world.time, 2.0))

    assert watcher.seen == [("locked", 1, 3.0)]
    assert held.held_until_s == pytest.approx(world.time.monotonic_s() + 3.0, abs=0.001)


def test_a_lock_whose_answer_took_longer_than_it_lasts_is_none(world: World) -> None:
    """R7."""
    watcher = Watcher()

    assert acquire(world, watcher, cache=SlowCache(world.cache, world.time, 5.0)) is None
    assert watcher.seen == []


def test_a_taken_lock_is_none_and_a_redis_that_is_away_is_no_lock(world: World) -> None:
    """R7: an error is never taken for leadership."""
    acquire(world, Watcher())

    assert acquire(world, Watcher()) is None
    with pytest.raises(CacheUnavailable):
        acquire(world, Watcher(), cache=AwayCache(world.cache))


def test_every_acquisition_has_an_owner_of_its_own(world: World) -> None:
    """R7: a process that comes back under its old name does not renew or release what its former self held."""
    first = acquire(world, Watcher())
    world.time.pass_(5.0)
    second = acquire(world, Watcher())

    lock.release(runtime(world, Watcher()), world.cache, first)

    assert (first.fence, second.fence) == (1, 2)
    assert first.owner != second.owner
    assert acquire(world, Watcher()) is None


def test_renewing_a_lock_moves_it_on_from_before_it_was_asked(world: World) -> None:
    """R7."""
    watcher = Watcher()
    held = acquire(world, watcher)
    world.time.pass_(4.0)
    asked_s = world.time.monotonic_s()

    renewed = lock.renew(
        runtime(world, watcher),
        SlowCache(world.cache, world.time, 1.0),
        held,
        ttl_s=5.0,  # type: ignore[arg-type]
    )

    assert renewed
    assert held.held_until_s == asked_s + 5.0
    assert watcher.seen[1:] == [("lock renewed", 1, 4.0)]


@pytest.mark.parametrize("loss", ["ran out", "taken by another", "answer came too late"])
def test_a_lost_lock_is_not_renewed(world: World, loss: str) -> None:
    """R7."""
    held = acquire(world, Watcher())
    cache: Any = world.cache
    if loss == "ran out":
        world.time.pass_(5.0)
    elif loss == "taken by another":
        world.time.pass_(5.0)
        acquire(world, Watcher())
    else:
        cache = SlowCache(world.cache, world.time, 5.0)

    assert not lock.renew(runtime(world, Watcher()), cache, held, ttl_s=5.0)


def test_while_redis_is_away_a_lock_is_held_for_as_long_as_it_was_and_no_longer(world: World) -> None:
    """R7: by the holder's own clock."""
    held = acquire(world, Watcher())
    away: Any = AwayCache(world.cache)
    world.time.pass_(4.9)
    before = lock.renew(runtime(world, Watcher()), away, held, ttl_s=5.0)
    world.time.pass_(0.1)

    assert (before, lock.renew(runtime(world, Watcher()), away, held, ttl_s=5.0)) == (True, False)
    lock.release(runtime(world, Watcher()), away, held)


def is_current(world: World, fence: int, owner: str) -> bool:
    return transact(world.engine, lambda connection: lock.is_current(connection, "sweep", fence=fence, owner=owner))


def test_after_a_newer_fence_was_accepted_no_older_one_is(world: World) -> None:
    """R7: the protected resource checks the fence, independently of the holders."""
    world.lead()

    answers = [is_current(world, *write) for write in ((1, "a"), (1, "a"), (3, "b"), (2, "c"), (1, "a"), (3, "b"))]

    assert answers == [True, True, True, False, False, True]


def test_of_two_holders_with_the_same_fence_the_first_to_write_keeps_it(world: World) -> None:
    """R7: after a failover Redis may give the same token twice."""
    world.lead()

    assert [is_current(world, 5, "a"), is_current(world, 5, "b"), is_current(world, 5, "a")] == [True, False, True]


@pytest.fixture(scope="module")
def fences(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("fences"))
    made.lead()  # makes the row
    yield made
    made.close()


@given(writes=st.lists(st.tuples(st.integers(1, 6), st.sampled_from("abc")), max_size=12))
def test_accepted_fences_never_go_back_and_never_change_hands(fences: World, writes: list[tuple[int, str]]) -> None:
    """R7."""
    with fences.engine.begin() as connection:
        connection.execute(schema.fences.update().values(fence=0, owner=""))

    accepted = [(fence, owner) for fence, owner in writes if is_current(fences, fence, owner)]

    assert [fence for fence, _ in accepted] == sorted(fence for fence, _ in accepted)
    assert len(set(accepted)) == len(dict(accepted)), "one owner a fence"
    assert accepted[:1] == writes[:1]


def test_the_fence_of_a_lock_is_above_every_fence_that_the_database_accepted(world: World) -> None:
    """R7: also when Redis has forgotten its own."""
    world.lead()
    world.time.pass_(SETTINGS.lock_ttl_s)
    assert is_current(world, 41, "former leader")

    held = acquire(world, Watcher())

    assert held.fence == 42
    assert is_current(world, held.fence, held.owner)
    assert not is_current(world, 41, "former leader")


def test_the_first_two_who_ever_ask_for_a_lock_may_ask_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """R7: each finds no row to write its fence to; the other has made it, and even written, when this one tries."""
    real = lock.transact

    def after_the_other(engine: Any, work: Any) -> Any:
        monkeypatch.setattr(lock, "transact", real)
        with world.engine.begin() as connection:
            connection.execute(schema.fences.insert().values(name="sweep", fence=7, owner="other"))
            monkeypatch.setattr(lock, "_ACCEPTED", lock._ACCEPTED.where(schema.fences.c.fence < 0))
        try:
            return real(engine, work)
        finally:
            monkeypatch.undo()

    monkeypatch.setattr(lock, "transact", after_the_other)

    assert acquire(world, Watcher()).fence == 8

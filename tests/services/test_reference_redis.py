"""The cache port over a real Redis: every operation atomic, sent once, bounded in time, and at home on whoever is primary."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
import redis

from chaos.environment import Services
from chaos.environments.local import LocalEnvironment
from chaos.faults import FailOverRedis
from chaos.services.addresses import RedisAddress
from reference_impl.adapters.redis import RedisCache, redis_cache
from reference_impl.errors import CacheUnavailable
from tests.services.wire import Wire

pytestmark = pytest.mark.services

IO_TIMEOUT_S = 10.0
SHORT_S = 0.5
"""For what is to time out."""
WINDOW_S = 10.0**6
"""Long enough that no test sees its end."""
TRIES_MAX = 300


class Place:
    """A Redis and the keys of one test in it."""

    def __init__(self, address: RedisAddress, prefix: str) -> None:
        self.address = address
        self.prefix = prefix
        self.direct = redis.Redis(host=address.host, port=address.port, decode_responses=True)

    def open(self, *, io_timeout_s: float = IO_TIMEOUT_S, watched: bool = True) -> RedisCache:
        return redis_cache(
            self.address.url,
            sentinels=self.address.sentinels if watched else (),
            primary_name=self.address.primary_name,
            prefix=self.prefix,
            io_timeout_s=io_timeout_s,
        )

    def ttls_ms(self) -> dict[str, int]:
        """What is left of every key of this test; -1: for ever."""
        names = sorted(self.direct.scan_iter(f"{self.prefix}*"))
        return {name.removeprefix(self.prefix): self.direct.pttl(name) for name in names}  # type: ignore[misc]


@pytest.fixture
def place(provision: Callable[..., Services]) -> Iterator[Place]:
    services = provision()
    assert services.redis is not None
    made = Place(services.redis, f"{services.namespace}.")
    yield made
    made.direct.close()


@pytest.fixture
def cache(place: Place) -> Iterator[RedisCache]:
    made = place.open()
    yield made
    made._client.close()


@pytest.fixture
def wire(place: Place) -> Iterator[Wire]:
    with closing(Wire((place.address.host, place.address.port))) as opened:
        yield opened


@pytest.fixture
def far(place: Place, wire: Wire) -> Iterator[RedisCache]:
    """Through the wire, and not patient."""
    address = RedisAddress("127.0.0.1", wire.port)
    made = redis_cache(address.url, sentinels=(), primary_name="", prefix=place.prefix, io_timeout_s=SHORT_S)
    made.ping()
    yield made
    made._client.close()


USES: dict[str, Callable[[RedisCache], object]] = {
    "write_progress": lambda cache: cache.write_progress("t", {"percent": 1}, expiry_s=60.0),
    "read_progress": lambda cache: cache.read_progress("t"),
    "acquire_lock": lambda cache: cache.acquire_lock("l", "me", ttl_s=60.0, fence_above=0),
    "renew_lock": lambda cache: cache.renew_lock("l", "me", ttl_s=60.0),
    "release_lock": lambda cache: cache.release_lock("l", "me"),
    "count_in_window": lambda cache: cache.count_in_window("n", "u", n_max=9, window_s=WINDOW_S),
    "ping": lambda cache: cache.ping(),
}


def test_progress_is_replaced_as_a_whole_and_never_without_an_end(cache: RedisCache, place: Place) -> None:
    """R4."""
    cache.write_progress("t", {"step": "one", "percent": 10, "extra": "x"}, expiry_s=60.0)
    cache.write_progress("t", {"step": "zwei €", "percent": 20}, expiry_s=60.0)

    assert cache.read_progress("t") == {"step": "zwei €", "percent": "20"}
    assert 0 < place.ttls_ms()["task:progress:t"] <= 60_000
    assert cache.read_progress("other") is None


def test_progress_of_many_writers_is_always_of_one_of_them(cache: RedisCache) -> None:
    """R4: a reader never sees half of one and half of another."""
    stop = threading.Event()

    def write(number: int) -> None:
        while not stop.is_set():
            cache.write_progress("t", {"a": number, "b": number}, expiry_s=60.0)

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, number) for number in range(3)]
        seen = [cache.read_progress("t") for _ in range(300)]
        stop.set()
        for writer in writers:
            writer.result()

    assert all(one is None or one["a"] == one["b"] for one in seen)


def test_no_key_but_a_fence_is_without_an_end(cache: RedisCache, place: Place) -> None:
    """R6: whatever was done last, and wherever a crash came: each operation is one step for Redis."""
    for use in USES.values():
        use(cache)
        endless = [name for name, ttl_ms in place.ttls_ms().items() if ttl_ms < 0]
        assert endless in ([], ["fence:l"])


def test_a_window_takes_so_many_and_says_how_long_to_wait(cache: RedisCache) -> None:
    """R6."""

    def count(user: str) -> float | None:
        return cache.count_in_window("new_tasks", user, n_max=2, window_s=WINDOW_S)

    answers = [count("alice"), count("alice"), count("alice"), count("bob")]

    assert [answers[0], answers[1], answers[3]] == [None, None, None]
    assert answers[2] is not None
    assert 0 < answers[2] <= WINDOW_S


def test_a_window_ends_when_redis_says_so(cache: RedisCache, place: Place) -> None:
    """R6: at a multiple of its length by Redis's own clock; its key goes with it."""
    window_ms = 60_000
    cache.count_in_window("n", "u", n_max=1, window_s=window_ms / 1000)

    ends_ms = place.direct.pexpiretime(f"{place.prefix}limit:n:u")

    assert isinstance(ends_ms, int)
    assert ends_ms % window_ms == 0


def test_many_who_count_at_once_are_never_let_through_too_often(cache: RedisCache) -> None:
    """R6: one atomic call."""
    allowed = 40
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: cache.count_in_window("n", "u", n_max=allowed, window_s=WINDOW_S), range(3 * allowed))
        )

    assert answers.count(None) == allowed


def test_a_lock_has_one_owner_who_alone_can_renew_and_release_it(cache: RedisCache, place: Place) -> None:
    """R7."""
    first = cache.acquire_lock("l", "a", ttl_s=60.0, fence_above=0)
    taken = cache.acquire_lock("l", "b", ttl_s=60.0, fence_above=0)
    not_theirs = cache.renew_lock("l", "b", ttl_s=600.0), cache.release_lock("l", "b")
    before_ms = place.ttls_ms()["lock:l"]
    renewed = cache.renew_lock("l", "a", ttl_s=600.0)
    after_ms = place.ttls_ms()["lock:l"]
    released = cache.release_lock("l", "a"), cache.release_lock("l", "a")
    second = cache.acquire_lock("l", "b", ttl_s=60.0, fence_above=0)

    assert (first, taken, second) == (1, None, 2)
    assert (not_theirs, renewed, released) == ((False, False), True, (True, False))
    assert before_ms <= 60_000 < after_ms <= 600_000


def test_a_lock_that_ran_out_is_nobody_s(cache: RedisCache, place: Place) -> None:
    """R7: a renewal that comes too late does not bring it back."""
    cache.acquire_lock("l", "a", ttl_s=60.0, fence_above=0)
    place.direct.pexpire(f"{place.prefix}lock:l", 0)

    assert not cache.renew_lock("l", "a", ttl_s=60.0)
    assert cache.acquire_lock("l", "b", ttl_s=60.0, fence_above=0) == 2
    assert not cache.release_lock("l", "a")


def test_of_many_who_try_at_once_one_has_the_lock_and_fences_only_rise(cache: RedisCache) -> None:
    """R7."""
    fences = []
    for _ in range(10):
        with ThreadPoolExecutor(6) as pool:
            tries = list(
                pool.map(lambda owner: cache.acquire_lock("l", f"{owner}", ttl_s=60.0, fence_above=0), range(6))
            )
        won = [(owner, fence) for owner, fence in enumerate(tries) if fence is not None]
        assert len(won) == 1
        fences.append(won[0][1])
        cache.release_lock("l", f"{won[0][0]}")

    assert fences == list(range(1, 11))


def test_a_fence_is_above_the_one_that_the_resource_has_seen(cache: RedisCache, place: Place) -> None:
    """R7: Redis was flushed, or failed over to a replica that had not heard of it."""
    cache.acquire_lock("l", "a", ttl_s=60.0, fence_above=0)
    place.direct.delete(f"{place.prefix}lock:l", f"{place.prefix}fence:l")

    assert cache.acquire_lock("l", "b", ttl_s=60.0, fence_above=2**40) == 2**40 + 1


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_redis_that_refuses_is_unavailable(use: Callable[[RedisCache], object], place: Place) -> None:
    """R6: an error is never a no, nor a yes."""
    with closing(Wire(("127.0.0.1", 1))) as nowhere:
        address = RedisAddress("127.0.0.1", nowhere.port)
        cache = redis_cache(address.url, sentinels=(), primary_name="", prefix="", io_timeout_s=SHORT_S)
        with pytest.raises(CacheUnavailable) as failure:
            use(cache)
        cache._client.close()

    assert not failure.value.definite


@pytest.mark.parametrize("name", ["write_progress", "acquire_lock", "count_in_window"])
def test_a_redis_that_may_not_write_is_unavailable(name: str, place: Place) -> None:
    """A primary that was demoted, or a replica that was taken for one."""
    replica = place.direct.info("replication")["slave0"]  # type: ignore[index]
    address = RedisAddress(replica["ip"], int(replica["port"]))
    cache = redis_cache(address.url, sentinels=(), primary_name="", prefix=place.prefix, io_timeout_s=IO_TIMEOUT_S)

    with pytest.raises(CacheUnavailable, match="read only replica"):
        USES[name](cache)

    cache._client.close()


@pytest.mark.parametrize("loss", ["never comes", "lost with its connection"])
def test_a_command_whose_reply_is_lost_was_sent_once(far: RedisCache, wire: Wire, cache: RedisCache, loss: str) -> None:
    """R6: the driver would repeat it ten times by itself, and ten would be counted."""
    far.count_in_window("n", "u", n_max=9, window_s=WINDOW_S)
    if loss == "never comes":
        wire.hold_answers()
    else:
        wire.cut_at(lambda data: b"EVALSHA" in data, delivered=True)

    with pytest.raises(CacheUnavailable):
        far.count_in_window("n", "u", n_max=9, window_s=WINDOW_S)

    wire.let_answers_through()
    left = 0
    while cache.count_in_window("n", "u", n_max=9, window_s=WINDOW_S) is None:
        left += 1
    assert left == 9 - 2


def test_after_a_lost_reply_no_answer_is_taken_for_that_of_another_question(far: RedisCache, wire: Wire) -> None:
    """A connection that still owes an answer is not used again."""
    far.write_progress("a", {"of": "a"}, expiry_s=60.0)
    far.write_progress("b", {"of": "b"}, expiry_s=60.0)
    wire.hold_answers()
    with pytest.raises(CacheUnavailable):
        far.read_progress("a")
    wire.let_answers_through()

    assert try_until(lambda: far.read_progress("b")) == {"of": "b"}


def test_a_lock_whose_reply_was_lost_runs_out_by_itself(far: RedisCache, wire: Wire, place: Place) -> None:
    """R7: nobody knows that he has it; nobody has it for ever."""
    far.acquire_lock("other", "a", ttl_s=60.0, fence_above=0)  # the script is known
    wire.hold_answers()
    with pytest.raises(CacheUnavailable):
        far.acquire_lock("l", "a", ttl_s=60.0, fence_above=0)
    wire.let_answers_through()

    assert 0 < place.ttls_ms()["lock:l"] <= 60_000


def test_scripts_that_redis_has_forgotten_are_brought_again(cache: RedisCache, place: Place) -> None:
    """A restart or a failover empties its script cache."""
    cache.count_in_window("n", "u", n_max=9, window_s=WINDOW_S)
    place.direct.script_flush()

    assert cache.acquire_lock("l", "me", ttl_s=60.0, fence_above=0) == 1
    assert cache.count_in_window("n", "u", n_max=1, window_s=WINDOW_S) is not None


def test_after_a_failover_the_same_cache_goes_on_with_the_new_primary(
    local: LocalEnvironment, provision: Callable[..., Services]
) -> None:
    """R4, R7: unavailable meanwhile, never wrong; nobody has to restart anything."""
    services = provision()
    assert services.redis is not None
    place = Place(services.redis, f"{services.namespace}.")
    cache = place.open(io_timeout_s=2.0)
    first = cache.acquire_lock("l", "a", ttl_s=600.0, fence_above=0)
    injection = local.injection(FailOverRedis(), services, {})
    injection.begin()
    try:
        injection.await_bite(60.0)
        second = try_until(lambda: cache.acquire_lock("other", "b", ttl_s=60.0, fence_above=7))
        fence = try_until(lambda: cache.acquire_lock("l", "b", ttl_s=60.0, fence_above=first or 0))
    finally:
        injection.end()
        injection.await_healed(60.0)
    cache._client.close()
    place.direct.close()

    assert (first, second) == (1, 8)
    assert fence in {None, 2}, "the lock outlived the failover, or was lost with it: then its fence is a new one"


def try_until(use: Callable[[], Any]) -> Any:
    """What it comes to once Redis answers; unavailable is the only way in which it may fail."""
    pause = threading.Event()
    for _ in range(TRIES_MAX):
        try:
            return use()
        except CacheUnavailable:
            pause.wait(0.1)
    raise AssertionError("Redis did not come back")

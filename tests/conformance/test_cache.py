"""What the simulation says of Redis, behind the named operations of the reference, is what Redis does."""

import pytest

from reference_impl.errors import CacheUnavailable
from reference_impl.ports import Cache
from tests.conformance.conftest import Conform
from tests.conformance.worlds import Clients

TTL_S = 0.3
AFTER_S = 0.35
HALF_S = 0.2


def acquire(cache: Cache, owner: str, *, ttl_s: float = 10.0, fence_above: int = 0) -> int | None:
    return cache.acquire_lock("leader", owner, ttl_s=ttl_s, fence_above=fence_above)


def test_a_lock_has_one_holder_until_it_is_released(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        one, other = clients.cache(), clients.cache()

        taken = [acquire(one, "a"), acquire(other, "b")]
        released = one.release_lock("leader", "a")

        assert taken == [1, None]
        assert released
        assert acquire(other, "b") == 2

    conform(body)


def test_only_its_owner_releases_or_renews_a_lock(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        cache = clients.cache()
        acquire(cache, "a")

        assert not cache.release_lock("leader", "b")
        assert not cache.renew_lock("leader", "b", ttl_s=10.0)
        assert cache.renew_lock("leader", "a", ttl_s=10.0)
        assert acquire(cache, "b") is None

    conform(body)


def test_a_lock_runs_out(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        cache = clients.cache()
        acquire(cache, "a", ttl_s=TTL_S)
        clients.rest(AFTER_S)

        assert not cache.renew_lock("leader", "a", ttl_s=10.0)
        assert acquire(cache, "b") == 2

    conform(body)


def test_renewing_a_lock_moves_its_end(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        cache = clients.cache()
        acquire(cache, "a", ttl_s=TTL_S)
        clients.rest(HALF_S)
        cache.renew_lock("leader", "a", ttl_s=TTL_S)
        clients.rest(HALF_S)

        assert acquire(cache, "b") is None

    conform(body)


def test_a_fence_is_above_what_the_resource_has_seen(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        cache = clients.cache()

        assert acquire(cache, "a", fence_above=41) == 42
        cache.release_lock("leader", "a")
        assert acquire(cache, "a", fence_above=7) == 43

    conform(body)


def test_progress_is_replaced_as_a_whole_and_runs_out(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        cache = clients.cache()
        cache.write_progress("t", {"step": "one", "percent": 10}, expiry_s=10.0)
        cache.write_progress("t", {"percent": 20}, expiry_s=TTL_S)

        now = cache.read_progress("t")
        clients.rest(AFTER_S)

        assert now == {"percent": "20"}
        assert cache.read_progress("t") is None
        assert cache.read_progress("never written") is None

    conform(body)


def test_a_window_lets_so_many_through_and_then_says_how_long_to_wait(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        cache = clients.cache()

        answers = [cache.count_in_window("limit", "user", n_max=2, window_s=1000.0) for _ in range(3)]

        assert answers[:2] == [None, None]
        assert answers[2] is not None
        assert 0 < answers[2] <= 1000.0
        assert cache.count_in_window("limit", "another", n_max=2, window_s=1000.0) is None

    conform(body)


def test_a_window_begins_anew(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        cache = clients.cache()
        wait_s = 0.0
        while not wait_s:  # at most two windows pass until one is full
            wait_s = cache.count_in_window("limit", "user", n_max=1, window_s=1.0) or 0.0
        clients.rest(wait_s + 0.05)

        assert cache.count_in_window("limit", "user", n_max=1, window_s=1.0) is None

    conform(body)


def test_a_redis_that_is_down_says_so_and_comes_back_with_what_it_had(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        cache = clients.cache()
        acquire(cache, "a", ttl_s=1000.0)

        with clients.down("redis"), pytest.raises(CacheUnavailable):
            cache.ping()

        assert acquire(clients.cache(), "b") is None
        assert clients.cache().renew_lock("leader", "a", ttl_s=1000.0)

    conform(body)


def test_after_a_failover_what_had_reached_the_replica_is_there(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        acquire(clients.cache(), "a", ttl_s=1000.0)
        clients.rest(1.0)

        clients.fail_over()

        cache = clients.cache()
        cache.ping()
        assert acquire(cache, "b") is None
        assert cache.release_lock("leader", "a")

    conform(body)

"""Faults of a simulated Redis: its failover, and what it loses by a flush, an eviction and a start without its files."""

import pytest

from chaos.errors import FaultDidNotBite
from chaos.faults import EvictKeys, FailOverRedis, Fault, FlushKeys, RestartEmpty
from tests.unit.chaos.small_world import SmallWorld
from tests.unit.chaos.test_simulated_faults import TIMEOUT_S, ask, make, strike


@pytest.fixture
def small() -> SmallWorld:
    return SmallWorld()


@pytest.mark.parametrize(
    "fault", [FlushKeys("redis"), EvictKeys("redis"), RestartEmpty("redis")], ids=lambda one: one.name
)
def test_a_cache_that_loses_its_keys_has_lost_them_on_its_replica_too(small: SmallWorld, fault: Fault) -> None:
    def body() -> None:
        cache = small.world.cache
        cache.put("lock", "worker-1")
        small.rest(1.0)  # by now the replica has it

        struck = strike(small, fault)
        struck.await_bite(TIMEOUT_S)
        struck.end()
        struck.end()
        struck.await_healed(TIMEOUT_S)

        assert cache.keys() == []
        cache.fail_over()
        assert cache.keys() == []
        assert ask(small.process.lines["redis"]) == "answered"

    small.run(body)


def test_an_eviction_takes_some_keys_and_a_flush_without_keys_has_no_target(small: SmallWorld) -> None:
    def body() -> None:
        with pytest.raises(FaultDidNotBite, match="it holds no key"):
            make(small, FlushKeys("redis"))
        for number in range(20):
            small.world.cache.put(f"key-{number}", number)

        evidence = strike(small, EvictKeys("redis")).await_bite(TIMEOUT_S).words

        left = len(small.world.cache.keys())
        assert 0 <= left < 20
        assert evidence == f"{20 - left} keys are gone"

    small.run(body)


def test_a_replica_that_is_behind_takes_over_without_the_last_writes(small: SmallWorld) -> None:
    def body() -> None:
        cache = small.world.cache
        cache.put("early", 1)
        small.rest(1.0)  # by now the replica has it

        fault = strike(small, FailOverRedis(behind_s=1.0))
        cache.put("late", 1)
        fault.await_bite(TIMEOUT_S)
        fault.end()
        fault.await_healed(TIMEOUT_S)

        assert cache.keys() == ["early"]
        cache.put("later", 1)
        small.rest(1.0)
        cache.fail_over()
        assert cache.keys() == ["early", "later"]

    small.run(body)


def test_a_failover_bites_when_the_replica_has_taken_over(small: SmallWorld) -> None:
    def body() -> None:
        line = small.process.lines["redis"]
        fault = strike(small, FailOverRedis())
        assert ask(line) == "refused"

        with pytest.raises(FaultDidNotBite, match="not agreed yet"):
            fault.await_bite(0.1)
        fault.await_bite(TIMEOUT_S)

        assert ask(line) == "answered"
        fault.end()
        assert ask(line) == "answered"

    small.run(body)

"""What strikes the keys of a Redis bites, leaves evidence, and heals; and one without Sentinels can be linked."""

import re
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from chaos.environment import Services
from chaos.environments.local import LocalEnvironment
from chaos.errors import FaultDidNotBite, ServiceUnavailable
from chaos.faults import (
    DegradeNetwork,
    EvictKeys,
    FailOverRedis,
    Fault,
    FlushKeys,
    KillService,
    PauseService,
    RestartEmpty,
)
from chaos.injectors import evict_keys, flush_keys, restart_empty
from chaos.ports import LOOPBACK
from chaos.services.redis.server import client, present_primary
from tests.services.conftest import Provision

pytestmark = pytest.mark.services

PATIENCE_S = 60.0
KEYS = 40


@pytest.fixture(scope="module")
def plain() -> Iterator[LocalEnvironment]:
    with LocalEnvironment(["redis"], sentinels=False) as environment:
        yield environment


@pytest.fixture
def services(plain: LocalEnvironment) -> Services:
    return plain.provision("test_keys")


def write_keys(services: Services, *, expire: bool = True) -> None:
    with closing(client(*address_of(services))) as server:
        for number in range(KEYS):
            server.set(f"key-{number}", number, ex=600 if expire else None)


def keys_of(services: Services) -> int:
    with closing(client(*address_of(services))) as server:
        return len([key for key in server.scan_iter() if str(key).startswith("key-")])


def address_of(services: Services) -> tuple[str, int]:
    assert services.redis is not None
    return present_primary(services.redis)


def carry_out(environment: LocalEnvironment, services: Services, fault: Fault) -> str:
    """What was seen of the bite of this fault, after it has healed."""
    injection = environment.injection(fault, services, {})
    injection.begin()
    evidence = injection.await_bite(PATIENCE_S).words
    injection.end()
    injection.end()
    injection.await_healed(PATIENCE_S)
    return evidence


def test_a_flush_removes_every_key_and_counts_those_of_the_system(plain: LocalEnvironment, services: Services) -> None:
    write_keys(services)

    assert carry_out(plain, services, FlushKeys("redis")) == f"FLUSHALL removed {KEYS} keys"
    assert keys_of(services) == 0


def test_a_restart_without_files_leaves_no_key_and_one_with_its_file_all(
    plain: LocalEnvironment, services: Services
) -> None:
    write_keys(services)

    carry_out(plain, services, KillService("redis"))
    assert keys_of(services) == KEYS
    evidence = carry_out(plain, services, RestartEmpty("redis"))

    assert evidence.endswith(f"its files are removed, it held {KEYS} keys")
    assert keys_of(services) == 0
    plain.check_health(PATIENCE_S)


def test_a_paused_redis_without_sentinels_answers_nothing_until_it_goes_on(
    plain: LocalEnvironment, services: Services
) -> None:
    write_keys(services)
    injection = plain.injection(PauseService("redis"), services, {})
    injection.begin()
    assert injection.await_bite(PATIENCE_S).words == "redis is stopped"

    with pytest.raises(ServiceUnavailable):
        plain.check_health(1.0)
    injection.end()
    injection.await_healed(PATIENCE_S)

    assert keys_of(services) == KEYS


@pytest.mark.parametrize("policy", EvictKeys.POLICIES)
def test_a_full_memory_evicts_keys_of_the_system_and_has_room_afterwards(
    plain: LocalEnvironment, services: Services, policy: str
) -> None:
    write_keys(services)

    evidence = carry_out(plain, services, EvictKeys("redis", policy))

    assert evidence == f"{KEYS - keys_of(services)} keys of the system evicted by {policy}"
    assert 0 < KEYS - keys_of(services) <= KEYS
    with closing(client(*address_of(services))) as server:
        assert server.config_get("maxmemory*")["maxmemory"] == "0"
        assert server.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
        assert not list(server.scan_iter(match="tasklab:ballast*"))


def test_keys_without_an_expiry_are_not_evicted_by_a_policy_for_those_that_have_one(
    plain: LocalEnvironment, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evict_keys, "FILL_S", 1.0)
    write_keys(services, expire=False)
    injection = plain.injection(EvictKeys("redis", "volatile-lru"), services, {})
    injection.begin()

    with pytest.raises(FaultDidNotBite, match="no key of the system was evicted by volatile-lru"):
        injection.await_bite(PATIENCE_S)

    injection.end()
    assert keys_of(services) == KEYS


@pytest.mark.parametrize(
    "fault", [FlushKeys("redis"), EvictKeys("redis"), RestartEmpty("redis")], ids=lambda one: one.name
)
def test_a_redis_without_keys_has_nothing_to_lose(
    plain: LocalEnvironment, services: Services, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (flush_keys, evict_keys, restart_empty):
        monkeypatch.setattr(module, "KEYS_WITHIN_S", 0.1)

    with pytest.raises(FaultDidNotBite, match="it holds no key of the system"):
        plain.injection(fault, services, {}).begin()


@pytest.mark.parametrize("fault", [FlushKeys("redis"), RestartEmpty("redis")], ids=lambda one: one.name)
def test_with_sentinels_the_replica_has_lost_the_keys_too(
    local: LocalEnvironment, provision: Provision, fault: Fault
) -> None:
    services = provision()
    write_keys(services)

    carry_out(local, services, fault)

    assert keys_of(services) == 0
    local.check_health(PATIENCE_S)


def test_a_replica_that_was_shut_out_takes_over_without_the_last_writes(
    local: LocalEnvironment, provision: Provision
) -> None:
    services = provision()
    write_keys(services)
    injection = local.injection(FailOverRedis(behind_s=1.0), services, {})
    writer = threading.Timer(0.6, write_key, (services, "late"))
    writer.start()

    injection.begin()
    evidence = injection.await_bite(PATIENCE_S).words
    injection.end()
    injection.await_healed(PATIENCE_S)
    writer.join()

    assert re.search(r"accepts writes, without the last \d+ bytes of the old one's writes$", evidence)
    assert keys_of(services) == KEYS
    with closing(client(*address_of(services))) as server:
        assert server.get("late") is None
    local.check_health(PATIENCE_S)


def write_key(services: Services, name: str) -> None:
    with closing(client(*address_of(services))) as server:
        server.set(name, "acknowledged")


def test_a_redis_without_sentinels_is_reached_through_a_link(plain: LocalEnvironment) -> None:
    services = plain.provision("test_linked", linked=["worker-1"])
    linked = services.as_seen_by("worker-1").redis

    assert linked is not None
    assert services.redis is not None
    assert linked.port != services.redis.port
    assert linked.sentinels == ()
    with closing(client(LOOPBACK, linked.port)) as through:
        assert through.ping()
    assert plain.can(DegradeNetwork("worker-1", "redis", "reset", 5.0)) == ""

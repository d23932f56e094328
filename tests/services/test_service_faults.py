"""Faults that only the local environment does, or can fail at, bite, heal, and say so when they do not: failover of Redis first."""

import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from chaos.environment import ServiceName, Services
from chaos.environments.local import LocalEnvironment
from chaos.errors import FaultDidNotBite, FaultDidNotHeal, ServiceUnavailable
from chaos.faults import FailOverRedis, KillService, PauseService
from chaos.ports import LOOPBACK, is_refused
from chaos.services.rabbitmq import quorum_queues
from chaos.services.redis.server import RedisServer, client
from chaos.services.registry import open_exchange
from tests.services.durability_probe import primary_of, read_key, redis_of, write_key, write_message

pytestmark = pytest.mark.services

PATIENCE_S = 60.0
SOON_S = 3.0
Provision = Callable[..., Services]


def test_a_broker_that_forgets_a_queue_is_not_healed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum_queues, "SAVE_TIMEOUT_S", 0.0)  # else the kill would wait until the queue is safe
    with LocalEnvironment(["rabbitmq"]) as environment:
        services = environment.provision("test_forgotten")
        write_message(services)
        injection = environment.injection(KillService("rabbitmq"), services, {})
        injection.begin()
        injection.await_bite(PATIENCE_S)
        injection.end()

        with pytest.raises(FaultDidNotHeal, match="it forgot test_forgotten and the messages in it"):
            injection.await_healed(PATIENCE_S)


@pytest.mark.parametrize("service", ["mysql", "rabbitmq", "postgresql"])
def test_a_paused_service_answers_nothing_keeps_its_connections_and_goes_on(
    local: LocalEnvironment, provision: Provision, service: ServiceName
) -> None:
    services = provision()
    address = getattr(services, service)
    with closing(open_exchange(address, SOON_S)) as open_before:
        open_before.ask()
        injection = local.injection(PauseService(service), services, {})
        injection.begin()
        evidence = injection.await_bite(PATIENCE_S).words

        socket.create_connection((address.host, address.port), SOON_S).close()
        with pytest.raises(ServiceUnavailable, match=f"^{service}: "):
            local.check_health(SOON_S)
        injection.end()
        injection.end()
        injection.await_healed(PATIENCE_S)
        open_before.ask()

    assert evidence == f"{service} is stopped"
    local.check_health(PATIENCE_S)


def test_a_service_that_another_program_resumes_was_not_paused(local: LocalEnvironment, provision: Provision) -> None:
    injection = local.injection(PauseService("mysql"), provision(), {})
    injection.begin()
    injection.await_bite(PATIENCE_S)

    for child in local._own_services()["mysql"].children:  # type: ignore[attr-defined]
        child.signal_tree(signal.SIGCONT)
    injection.end()

    with pytest.raises(FaultDidNotBite, match="another program has resumed it"):
        injection.await_healed(PATIENCE_S)
    local.check_health(PATIENCE_S)


def test_two_failovers_in_a_row_each_name_another_primary_and_lose_no_replicated_key(
    local: LocalEnvironment, provision: Provision
) -> None:
    services = provision()
    write_key(services)
    first = primary_of(services)

    for _ in range(2):
        before = primary_of(services)
        injection = local.injection(FailOverRedis(), services, {})
        injection.begin()
        evidence = injection.await_bite(PATIENCE_S).words

        assert evidence.startswith(f"primary {LOOPBACK}:{before} killed; after ")
        assert is_refused(LOOPBACK, before)
        assert primary_of(services) != before
        injection.end()
        injection.end()
        injection.await_healed(PATIENCE_S)
        with closing(client(LOOPBACK, before)) as old:
            assert old.info("replication")["role"] == "slave"
            assert old.info("replication")["master_link_status"] == "up"
        assert read_key(services) == "kept"

    assert primary_of(services) == first
    local.check_health(PATIENCE_S)


def test_a_later_run_is_given_the_present_primary(local: LocalEnvironment, provision: Provision) -> None:
    injection = local.injection(FailOverRedis(), provision(), {})
    injection.begin()
    injection.await_bite(PATIENCE_S)
    injection.end()
    injection.await_healed(PATIENCE_S)

    services = provision()

    assert redis_of(services).port == primary_of(services)


@pytest.fixture
def only_redis() -> Iterator[LocalEnvironment]:
    with LocalEnvironment(["redis"]) as environment:
        yield environment


def redis_server(environment: LocalEnvironment) -> RedisServer:
    server = environment._own_services()["redis"]
    assert isinstance(server, RedisServer)
    return server


def test_without_a_quorum_of_sentinels_a_dead_primary_is_no_failover(only_redis: LocalEnvironment) -> None:
    services = only_redis.provision("test_no_quorum")
    server = redis_server(only_redis)
    for child in list(server._sentinels.values())[:2]:
        child.kill_tree(PATIENCE_S)
    injection = only_redis.injection(FailOverRedis(), services, {})
    injection.begin()

    with pytest.raises(FaultDidNotBite, match="Sentinels"):
        injection.await_bite(4.0)

    injection.end()
    with pytest.raises(FaultDidNotHeal, match=r"sentinel .* ended with exit code -9"):
        injection.await_healed(PATIENCE_S)


def test_a_service_that_cannot_come_back_is_not_healed(only_redis: LocalEnvironment) -> None:
    services = only_redis.provision("test_no_way_back")
    injection = only_redis.injection(KillService("redis"), services, {})
    injection.begin()
    injection.await_bite(PATIENCE_S)
    server = redis_server(only_redis)
    for port in server.node_ports:
        shutil.rmtree(server.directory / f"node-{port}")
        (server.directory / f"node-{port}").mkdir()
        (server.directory / f"node-{port}" / "appendonlydir").write_text("in the way")

    injection.end()

    with pytest.raises(FaultDidNotHeal, match=r"(?s)redis node \d+ ended with exit code 1.*appendonlydir"):
        injection.await_healed(PATIENCE_S)

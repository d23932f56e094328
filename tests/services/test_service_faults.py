"""Faults of services bite, heal, and say so when they do not: kill -9 of each server, failover of Redis."""

import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import closing

import pymysql
import pytest
from pamqp import commands

from chaos.deadline import Deadline
from chaos.environment import RabbitmqAddress, RedisAddress, Services
from chaos.environments.local import LocalEnvironment
from chaos.errors import ChaosError, FaultDidNotBite, FaultDidNotHeal, ServiceUnavailable
from chaos.faults import FailOverRedis, KillService
from chaos.ports import LOOPBACK, is_refused
from chaos.services import quorum_queues
from chaos.services.amqp_client import AmqpClient
from chaos.services.redis import RedisServer, ask_primary, client

pytestmark = pytest.mark.services

PATIENCE_S = 60.0
Provision = Callable[..., Services]


def write_row(services: Services) -> None:
    with closing(connect(services)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept (word TEXT)")
        cursor.execute("INSERT INTO kept VALUES ('kept')")
        connection.commit()


def read_row(services: Services) -> object:
    with closing(connect(services)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT word FROM kept")
        (found,) = cursor.fetchone() or (None,)
        return found


def connect(services: Services) -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
    address = services.mysql
    assert address is not None
    return pymysql.connect(
        host=address.host, port=address.port, user=address.user, password=address.password, database=address.database
    )


def write_key(services: Services) -> None:
    with closing(client(LOOPBACK, primary_of(services))) as primary:
        primary.set(services.namespace, "kept")


def read_key(services: Services) -> object:
    with closing(client(LOOPBACK, primary_of(services))) as primary:
        return primary.get(services.namespace)


def primary_of(services: Services) -> int:
    found = ask_primary(redis_of(services).sentinels, redis_of(services).primary_name)
    assert found is not None
    return found[1]


def redis_of(services: Services) -> RedisAddress:
    assert services.redis is not None
    return services.redis


def rabbitmq_of(services: Services) -> RabbitmqAddress:
    assert services.rabbitmq is not None
    return services.rabbitmq


def write_message(services: Services) -> None:
    with AmqpClient(rabbitmq_of(services), Deadline.after(PATIENCE_S)) as broker:
        queue = commands.Queue.Declare(queue=services.namespace, durable=True, arguments={"x-queue-type": "quorum"})
        broker.call(queue, commands.Queue.DeclareOk)
        broker.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
        assert broker.publish_confirmed(services.namespace, b"kept")


def read_message(services: Services) -> object:
    with AmqpClient(rabbitmq_of(services), Deadline.after(PATIENCE_S)) as broker:
        found = broker.get(services.namespace)
        return found and found.decode()


@pytest.mark.parametrize(
    ("service", "write", "read"),
    [("mysql", write_row, read_row), ("redis", write_key, read_key), ("rabbitmq", write_message, read_message)],
)
def test_a_killed_service_is_gone_and_comes_back_with_its_data(
    local: LocalEnvironment,
    provision: Provision,
    service: str,
    write: Callable[[Services], None],
    read: Callable[[Services], object],
) -> None:
    services = provision()
    write(services)
    port = getattr(services, service).port
    injection = local.injection(KillService(service), services, {})

    injection.begin()
    evidence = injection.await_bite(PATIENCE_S)

    assert is_refused(LOOPBACK, port)
    assert evidence.startswith(f"{service}: killed ")
    assert evidence.endswith("are refused")
    with pytest.raises(ServiceUnavailable, match=service):
        local.check_health(0.5)
    injection.end()
    injection.end()
    injection.await_healed(PATIENCE_S)
    local.check_health(PATIENCE_S)
    assert read(services) == "kept"


def test_a_service_whose_port_still_takes_connections_was_not_killed(
    local: LocalEnvironment, provision: Provision
) -> None:
    services = provision()
    assert services.mysql is not None
    injection = local.injection(KillService("mysql"), services, {})
    injection.begin()

    with (
        socket.create_server((LOOPBACK, services.mysql.port)),
        pytest.raises(FaultDidNotBite, match="still takes connections"),
    ):
        injection.await_bite(0.2)

    injection.end()
    injection.await_healed(PATIENCE_S)


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


@pytest.mark.parametrize("service", ["mysql", "redis", "rabbitmq"])
def test_ending_a_kill_that_never_began_starts_nothing(
    local: LocalEnvironment, provision: Provision, service: str
) -> None:
    injection = local.injection(KillService(service), provision(), {})

    injection.end()

    local.check_health(PATIENCE_S)


def test_a_service_that_is_not_there_cannot_be_killed(local: LocalEnvironment, provision: Provision) -> None:
    with pytest.raises(ChaosError, match="no service 'kafka'; it has mysql, rabbitmq, redis"):
        local.injection(KillService("kafka"), provision(), {})


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
        evidence = injection.await_bite(PATIENCE_S)

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
    server = environment._service("redis")
    assert isinstance(server, RedisServer)
    return server


def test_without_a_quorum_of_sentinels_a_dead_primary_is_no_failover(only_redis: LocalEnvironment) -> None:
    services = only_redis.provision("test_no_quorum")
    server = redis_server(only_redis)
    for ward in list(server._sentinels.values())[:2]:
        ward.kill_tree(PATIENCE_S)
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

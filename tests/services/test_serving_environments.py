"""What every environment does that runs services of its own, as processes or in containers: one body of expectations."""

import itertools
import os
import signal
import socket
from collections.abc import Callable
from contextlib import closing

import pytest
from pamqp import commands

from chaos.deadline import Deadline, wait
from chaos.environment import Services
from chaos.environments.external import ExternalEnvironment
from chaos.environments.serving import ServingEnvironment
from chaos.errors import ChaosError, FaultDidNotBite, ServiceUnavailable
from chaos.faults import KillService
from chaos.ports import LOOPBACK, PortAllocator, is_refused
from chaos.services.postgresql.client import connected
from chaos.services.rabbitmq import server as rabbitmq
from chaos.services.rabbitmq.amqp_client import AmqpClient
from chaos.services.rabbitmq.virtual_host import check_fresh, queue_names
from chaos.services.redis import server as redis
from tests.services.durability_probe import (
    connect,
    postgresql_of,
    rabbitmq_of,
    read_key,
    read_message,
    read_postgresql_row,
    read_row,
    redis_of,
    write_key,
    write_message,
    write_postgresql_row,
    write_row,
)
from tests.services.serving import Serving, lab_of_its_own

pytestmark = pytest.mark.services

PATIENCE_S = 60.0
_numbers = itertools.count(1)


@pytest.fixture
def environment(serving: Serving) -> ServingEnvironment:
    """With all services, shared by all tests."""
    return serving.shared


@pytest.fixture
def services(environment: ServingEnvironment) -> Services:
    return environment.provision(f"serving_{next(_numbers)}")


def test_every_service_answers_and_says_its_version(environment: ServingEnvironment) -> None:
    environment.check_health(PATIENCE_S)

    assert set(environment.versions()) >= {"mysql", "redis", "rabbitmq", "postgresql"}
    assert all(environment.versions().values())
    assert set(environment.startup_s) == {"mysql", "redis", "rabbitmq", "postgresql"}
    assert all(took_s > 0 for took_s in environment.startup_s.values())


def test_a_namespace_provisioned_again_is_empty_again(environment: ServingEnvironment, services: Services) -> None:
    write_row(services)

    again = environment.provision(services.namespace)

    with closing(connect(again)) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        assert cursor.fetchall() == ()
    assert again == services


def test_the_postgresql_of_a_run_holds_no_database_of_the_run_before(environment: ServingEnvironment) -> None:
    """Else each kill, and each drop, would take longer than the one before."""
    first, second = (environment.provision(f"serving_{next(_numbers)}") for _ in range(2))

    with connected(postgresql_of(second), PATIENCE_S) as connection:
        names = {str(name) for (name,) in connection.run("SELECT datname FROM pg_database")}

    assert names & {first.namespace, second.namespace} == {second.namespace}


def test_a_run_sees_no_key_and_no_queue_of_a_run_before(environment: ServingEnvironment, services: Services) -> None:
    """Under names without the prefix of any namespace, as libraries choose them."""
    with AmqpClient(rabbitmq_of(services), Deadline.after(PATIENCE_S)) as broker:
        broker.call(commands.Queue.Declare(queue="celery", durable=True), commands.Queue.DeclareOk)
    first = redis_of(services)
    with closing(redis.client(first.host, first.port)) as client:
        client.set("celery-task-meta-1", "SUCCESS")
        assert redis.foreign_keys(client) == "1 keys (celery-task-meta-1)"

        later = environment.provision(f"serving_{next(_numbers)}")

        assert redis.foreign_keys(client) == ""
    with (
        pytest.raises(ConnectionError, match="NOT_FOUND"),
        AmqpClient(rabbitmq_of(later), Deadline.after(PATIENCE_S)) as broker,
    ):
        broker.call(commands.Queue.Declare(queue="celery", passive=True), commands.Queue.DeclareOk)


def test_a_redis_that_is_not_the_labs_is_refused_while_it_holds_keys_of_others(services: Services) -> None:
    address = redis_of(services)
    with closing(redis.client(address.host, address.port)) as client:
        client.set("celery-task-meta-1", "SUCCESS")
        with (
            pytest.raises(
                ServiceUnavailable,
                match=r"not clean: it holds 1 keys \(celery-task-meta-1\), .* give the lab an empty Redis",
            ),
            ExternalEnvironment(redis_url=address.url) as outside,
        ):
            outside.provision("test_not_clean")
        client.delete("celery-task-meta-1")


@pytest.mark.parametrize("answer", ['queues in it: [<<"celery">>]', "{badrpc,nodedown}", ""])
def test_a_virtual_host_that_is_not_proven_empty_is_refused(answer: str) -> None:
    with pytest.raises(ServiceUnavailable, match="the virtual host lab_1 of this run is not clean"):
        check_fresh("lab_1", answer)


@pytest.mark.parametrize("answer", ["{badrpc,nodedown}", "no answer within 30 s", "queue: orders", ""])
def test_queues_that_cannot_all_be_listed_are_no_empty_list(answer: str) -> None:
    with pytest.raises(ServiceUnavailable, match="its queues cannot be listed"):
        queue_names(answer)


def test_all_queues_are_listed() -> None:
    assert queue_names("warning\n\nqueue: orders\n\nqueue: letters\n\nall queues are listed\n") == ["letters", "orders"]
    assert queue_names("\nall queues are listed\n") == []


def test_only_the_services_asked_for_are_started(serving: Serving) -> None:
    with serving.make(["redis"]) as environment:
        services = environment.provision("test_redis_only")

        assert environment.offers == {"redis"}
        assert (services.mysql, services.rabbitmq, services.postgresql) == (None, None, None)
        assert services.redis is not None


def test_two_labs_at_the_same_time_do_not_touch_each_other(serving: Serving) -> None:
    with serving.make() as other:
        ours, theirs = serving.shared.provision("test_same_name"), other.provision("test_same_name")
        assert ours.mysql is not None
        assert theirs.mysql is not None
        write_row(ours)
        write_key(ours)
        with AmqpClient(rabbitmq_of(ours), Deadline.after(PATIENCE_S)) as broker:
            broker.call(commands.Queue.Declare(queue="test_same_name", durable=True), commands.Queue.DeclareOk)

        write_row(theirs)  # the table would be there already
        assert read_key(theirs) is None
        with (
            pytest.raises(ConnectionError, match="NOT_FOUND"),
            AmqpClient(rabbitmq_of(theirs), Deadline.after(PATIENCE_S)) as broker,
        ):
            broker.call(commands.Queue.Declare(queue="test_same_name", passive=True), commands.Queue.DeclareOk)
        assert len({ours.http_port, theirs.http_port, ours.mysql.port, theirs.mysql.port}) == 4

    serving.shared.check_health(PATIENCE_S)


def test_leaving_it_leaves_nothing(serving: Serving) -> None:
    with serving.make() as environment:
        directory = environment.directory
        assert len(serving.find_left(directory)) > 4  # the check can fail

    assert serving.find_left(directory) == []
    environment.__exit__()  # idempotent


def test_ctrl_c_leaves_nothing(serving: Serving) -> None:
    with lab_of_its_own(serving.source) as (lab, directory):
        assert len(serving.find_left(directory)) > 4

        os.killpg(lab.pid, signal.SIGINT)

        lab.wait()
        wait(lambda: "; ".join(serving.find_left(directory)), Deadline.after(PATIENCE_S))
        assert serving.find_left(directory) == []


def test_ctrl_c_while_services_start_leaves_nothing(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = itertools.count()

    def interrupted(address: object) -> str:
        if next(asked) == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return "everything"

    environment = serving.make()
    monkeypatch.setattr(rabbitmq, "missing", interrupted)

    with pytest.raises(KeyboardInterrupt), environment:
        pass

    assert serving.find_left(environment.directory) == []


def test_a_service_that_does_not_get_ready_says_what_was_missing(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "missing_write", lambda *_, **__: "no write to the primary")

    with (
        pytest.raises(ServiceUnavailable, match=r"redis: not ready after 1 s: no write to the primary"),
        serving.make(["redis"], start_timeout_s=1.0),
    ):
        pass


def test_a_port_lost_to_somebody_else_is_replaced(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    allocate = PortAllocator.allocate
    thieves: list[socket.socket] = []

    def allocate_and_lose(lease: PortAllocator) -> int:
        port = allocate(lease)
        if not thieves:
            thieves.append(socket.create_server((LOOPBACK, port)))
        return port

    monkeypatch.setattr(PortAllocator, "allocate", allocate_and_lose)

    with serving.make(["redis"]) as environment:
        services = environment.provision("test_lost_race")

        assert redis_of(services).port != thieves[0].getsockname()[1]
    thieves[0].close()


@pytest.mark.parametrize(
    ("service", "write", "read"),
    [
        ("mysql", write_row, read_row),
        ("redis", write_key, read_key),
        ("rabbitmq", write_message, read_message),
        ("postgresql", write_postgresql_row, read_postgresql_row),
    ],
)
def test_a_killed_service_is_gone_and_comes_back_with_its_data(
    environment: ServingEnvironment,
    services: Services,
    service: str,
    write: Callable[[Services], None],
    read: Callable[[Services], object],
) -> None:
    write(services)
    port = getattr(services, service).port
    injection = environment.injection(KillService(service), services, {})

    injection.begin()
    evidence = injection.await_bite(PATIENCE_S).words

    assert is_refused(LOOPBACK, port)
    assert evidence.startswith(f"{service}: killed ")
    assert evidence.endswith("are refused")
    with pytest.raises(ServiceUnavailable, match=service):
        environment.check_health(0.5)
    injection.end()
    injection.end()
    injection.await_healed(PATIENCE_S)
    environment.check_health(PATIENCE_S)
    assert read(services) == "kept"
    assert getattr(environment.provision(services.namespace), service).port == port


def test_a_service_whose_port_still_takes_connections_was_not_killed(
    environment: ServingEnvironment, services: Services
) -> None:
    assert services.mysql is not None
    injection = environment.injection(KillService("mysql"), services, {})
    injection.begin()
    injection.await_bite(PATIENCE_S)

    with (
        socket.create_server((LOOPBACK, services.mysql.port)),
        pytest.raises(FaultDidNotBite, match="still accepts connections"),
    ):
        injection.await_bite(0.2)

    injection.end()
    injection.await_healed(PATIENCE_S)


@pytest.mark.parametrize("service", ["mysql", "redis", "rabbitmq", "postgresql"])
def test_ending_a_kill_that_never_began_starts_nothing(
    environment: ServingEnvironment, services: Services, service: str
) -> None:
    injection = environment.injection(KillService(service), services, {})

    injection.end()

    environment.check_health(PATIENCE_S)


def test_a_service_that_is_not_there_cannot_be_killed(environment: ServingEnvironment, services: Services) -> None:
    with pytest.raises(ChaosError, match="no service 'kafka'; it has mysql, postgresql, rabbitmq, redis"):
        environment.injection(KillService("kafka"), services, {})

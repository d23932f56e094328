"""Services start by a round trip of the lab's own, one run does not see another, and what cannot start says why."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pymysql
import pytest
from pamqp import commands

from chaos import binaries
from chaos.deadline import Deadline, wait
from chaos.environment import ServiceName, Services
from chaos.environments.leftovers import find_leftovers
from chaos.environments.local import LocalEnvironment
from chaos.errors import ChaosError, ServiceUnavailable, WardenLost
from chaos.ports import LOOPBACK, PortLease
from chaos.services import mysql, rabbitmq, redis
from chaos.services.amqp_client import AmqpClient

pytestmark = pytest.mark.services

PATIENCE_S = 60.0
Provision = Callable[..., Services]


def test_every_service_answers_and_says_its_version(local: LocalEnvironment) -> None:
    local.check_health(PATIENCE_S)

    assert set(local.versions()) >= {"mysql", "redis", "rabbitmq"}
    assert all(local.versions().values())
    assert set(local.startup_s) == {"mysql", "redis", "rabbitmq"}
    assert all(took_s > 0 for took_s in local.startup_s.values())


def test_a_namespace_provisioned_again_is_empty_again(local: LocalEnvironment) -> None:
    services = local.provision("test_twice")
    assert services.mysql is not None
    with (
        closing(pymysql.connect(**login(services), database="test_twice")) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("CREATE TABLE tasks (id INT)")

    again = local.provision("test_twice")

    with closing(pymysql.connect(**login(again), database="test_twice")) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        assert cursor.fetchall() == ()
    assert again == services


@pytest.mark.parametrize("namespace", ["", "Upper", "1st", "a-b", "a`; DROP DATABASE mysql", "x" * 49])
def test_a_name_that_not_every_service_takes_is_refused(local: LocalEnvironment, namespace: str) -> None:
    with pytest.raises(ChaosError, match="cannot be a namespace"):
        local.provision(namespace)


def test_only_the_services_asked_for_are_started() -> None:
    with LocalEnvironment(["redis"]) as environment:
        services = environment.provision("test_redis_only")

        assert environment.offers == {"redis"}
        assert (services.mysql, services.rabbitmq) == (None, None)
        assert services.redis is not None


def test_a_service_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ChaosError, match="no service is called kafka"):
        LocalEnvironment(["kafka"])  # type: ignore[list-item]


def test_two_labs_at_the_same_time_do_not_touch_each_other(local: LocalEnvironment) -> None:
    with LocalEnvironment() as other:
        ours, theirs = local.provision("test_same_name"), other.provision("test_same_name")
        assert ours.mysql is not None
        assert theirs.mysql is not None
        assert ours.redis is not None
        assert theirs.redis is not None
        assert ours.rabbitmq is not None
        assert theirs.rabbitmq is not None
        with closing(redis.client(ours.redis.host, ours.redis.port)) as client:
            client.set("key", "ours")
        with AmqpClient(ours.rabbitmq, Deadline.after(PATIENCE_S)) as broker:
            broker.call(commands.Queue.Declare(queue="test_same_name", durable=True), commands.Queue.DeclareOk)

        with closing(redis.client(theirs.redis.host, theirs.redis.port)) as client:
            assert client.get("key") is None
        with (
            pytest.raises(ConnectionError, match="NOT_FOUND"),
            AmqpClient(theirs.rabbitmq, Deadline.after(PATIENCE_S)) as broker,
        ):
            broker.call(commands.Queue.Declare(queue="test_same_name", passive=True), commands.Queue.DeclareOk)
        assert len({ours.http_port, theirs.http_port, ours.mysql.port, theirs.mysql.port}) == 4

    local.check_health(PATIENCE_S)


def test_leaving_it_leaves_no_process_and_no_file() -> None:
    with LocalEnvironment() as environment:
        directory = environment.directory
        assert len(find_leftovers(directory)) > 8  # the check can fail

    assert find_leftovers(directory) == []
    environment.__exit__()  # idempotent


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_lab_that_is_killed_leaves_no_process_and_no_file(end: signal.Signals) -> None:
    script = (
        "import sys; from chaos.environments.local import LocalEnvironment\n"
        "with LocalEnvironment() as lab:\n"
        "    print(lab.directory, flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    lab = subprocess.Popen(
        [sys.executable, "-c", script], text=True, process_group=0, cwd=Path(__file__).parents[2], **pipes
    )
    assert lab.stdout is not None
    directory = Path(lab.stdout.readline().strip())
    assert len(find_leftovers(directory)) > 8

    os.killpg(lab.pid, end)

    wait(lambda: "; ".join(find_leftovers(directory)), Deadline.after(PATIENCE_S))
    assert find_leftovers(directory) == []
    lab.communicate()


def test_ctrl_c_while_services_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    directories: list[Path] = []

    def interrupted(server: rabbitmq.RabbitmqServer) -> str:
        directories.append(server.directory.parent)
        os.kill(os.getpid(), signal.SIGINT)
        return "everything"

    monkeypatch.setattr(rabbitmq.RabbitmqServer, "missing", interrupted)

    with pytest.raises(KeyboardInterrupt), LocalEnvironment():
        pass

    assert find_leftovers(directories[0]) == []


@pytest.mark.parametrize(
    ("service", "program"),
    [
        ("mysql", "mariadbd"),
        ("mysql", "mariadb-install-db"),
        ("redis", "redis-server"),
        ("rabbitmq", "rabbitmq-server"),
    ],
)
def test_a_missing_program_is_named_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, service: ServiceName, program: str
) -> None:
    find = binaries.find
    monkeypatch.setattr(binaries, "find", lambda name: None if name == program else find(name))

    with (
        pytest.raises(ServiceUnavailable, match=rf"(?s){service}: no {program}.*apt-get install"),
        LocalEnvironment([service]),
    ):
        pass


@pytest.mark.parametrize(
    ("service", "program"), [("mysql", "mariadbd"), ("redis", "redis-server"), ("rabbitmq", "rabbitmq-server")]
)
def test_a_service_that_dies_at_start_is_named_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, service: ServiceName, program: str
) -> None:
    broken = tmp_path / "sbin" / "rabbitmq-server"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho MariaDB\necho cannot allocate the frobnicator >&2\nexit 3\n")
    broken.chmod(0o755)
    find = binaries.find
    monkeypatch.setattr(binaries, "find", lambda name: broken if name == program else find(name))
    monkeypatch.setattr(rabbitmq, "_lean_copy", lambda home, to: broken)

    with (
        pytest.raises(ServiceUnavailable, match=r"(?s)ended with exit code 3.*frobnicator") as raised,
        LocalEnvironment([service]),
    ):
        pass

    assert raised.value.service == service


def test_a_service_that_does_not_get_ready_says_what_was_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "missing_write", lambda *_, **__: "no write to the primary")

    with (
        pytest.raises(ServiceUnavailable, match=r"redis: not ready after 1 s: no write to the primary"),
        LocalEnvironment(["redis"], start_timeout_s=1.0),
    ):
        pass


def test_a_port_lost_to_somebody_else_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = PortLease.claim
    thieves: list[socket.socket] = []

    def claim_and_lose(lease: PortLease) -> int:
        port = claim(lease)
        if not thieves:
            thieves.append(socket.create_server((LOOPBACK, port)))
        return port

    monkeypatch.setattr(PortLease, "claim", claim_and_lose)

    with LocalEnvironment(["mysql"]) as environment:
        services = environment.provision("test_lost_race")

        assert services.mysql is not None
        assert services.mysql.port != thieves[0].getsockname()[1]
    thieves[0].close()


def test_a_killed_warden_is_an_error_that_says_so() -> None:
    with LocalEnvironment(["redis"]) as environment:
        directory = environment.directory
        pids = [int(line.split()[1].rstrip(":")) for line in find_leftovers(directory) if "warden.py" in line]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

        wait(lambda: "" if environment._warden.is_lost else "news", Deadline.after(PATIENCE_S))
        with pytest.raises(WardenLost):
            environment.check_health(PATIENCE_S)

    wait(lambda: "; ".join(find_leftovers(directory)), Deadline.after(PATIENCE_S))
    assert find_leftovers(directory) == []


@pytest.mark.parametrize("service", ["mysql", "redis", "rabbitmq"])
def test_a_round_trip_is_red_when_the_service_is_down(service: str) -> None:
    closed = PortLease()
    port = closed.claim()
    probes = {
        "mysql": lambda port: mysql.missing(mysql.MysqlAddress(LOOPBACK, port, "x", "y", "")),
        "redis": lambda port: redis.missing_write(LOOPBACK, port),
        "rabbitmq": lambda port: rabbitmq.missing(rabbitmq.RabbitmqAddress(LOOPBACK, port, "x", "y")),
    }

    assert str(port) in probes[service](port)
    with deaf_server() as deaf:
        assert str(deaf) in probes[service](deaf)
    closed.close()


def login(services: Services) -> dict[str, object]:
    assert services.mysql is not None
    address = services.mysql
    return {"host": address.host, "port": address.port, "user": address.user, "password": address.password}


@contextmanager
def deaf_server() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    kept: list[socket.socket] = []
    with socket.create_server((LOOPBACK, 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    kept.append(listener.accept()[0])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in kept:
        connection.close()

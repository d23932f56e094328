"""What is the local environment's own: its programs and its warden, and what they say when they are missing or die."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from chaos import binaries
from chaos.deadline import Deadline, wait
from chaos.environment import ServiceName, Services
from chaos.environments.local import LocalEnvironment
from chaos.errors import ChaosError, ServiceUnavailable, WardenLost
from chaos.ports import LOOPBACK, PortAllocator
from chaos.services.mysql import server as mysql
from chaos.services.postgresql import client as postgresql
from chaos.services.postgresql import server as postgresql_server
from chaos.services.rabbitmq import server as rabbitmq
from chaos.services.redis import server as redis
from tests.leftovers import find_leftovers
from tests.services.serving import lab_of_its_own

pytestmark = pytest.mark.services

PATIENCE_S = 60.0
SHM_DEST = 0o1000
"""The bit in the permissions of a System V segment that will be removed with its last process."""
Provision = Callable[..., Services]


@pytest.mark.parametrize("namespace", ["", "Upper", "1st", "a-b", "a`; DROP DATABASE mysql", "x" * 49])
def test_a_name_that_not_every_service_takes_is_refused(local: LocalEnvironment, namespace: str) -> None:
    with pytest.raises(ChaosError, match="is not valid as a namespace"):
        local.provision(namespace)


def test_a_service_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ChaosError, match="no service is called kafka"):
        LocalEnvironment(["kafka"])  # type: ignore[list-item]


def test_a_lab_that_is_killed_leaves_no_process_and_no_file() -> None:
    source = "from chaos.environments.local import LocalEnvironment\nlab = LocalEnvironment()"
    with lab_of_its_own(source) as (lab, directory):
        assert len(find_leftovers(directory)) > 8  # the check can fail

        os.killpg(lab.pid, signal.SIGKILL)

        wait(lambda: "; ".join(find_leftovers(directory)), Deadline.after(PATIENCE_S))
        assert find_leftovers(directory) == []


@pytest.mark.parametrize(
    ("service", "program"),
    [
        ("mysql", "mariadbd"),
        ("mysql", "mariadb-install-db"),
        ("redis", "redis-server"),
        ("rabbitmq", "rabbitmq-server"),
        ("postgresql", "postgres"),
        ("postgresql", "initdb"),
    ],
)
def test_a_missing_program_is_named_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, service: ServiceName, program: str
) -> None:
    find = binaries.find
    monkeypatch.setattr(binaries, "find", lambda name: None if name == program else find(name))

    with (
        pytest.raises(ServiceUnavailable, match=rf"(?s){service}: no {program}.*`tasklab services install` brings it"),
        LocalEnvironment([service]),
    ):
        pass


@pytest.mark.parametrize(
    ("service", "program"),
    [
        ("mysql", "mariadbd"),
        ("redis", "redis-server"),
        ("rabbitmq", "rabbitmq-server"),
        ("postgresql", "postgres"),
        ("postgresql", "initdb"),
    ],
)
def test_a_service_that_dies_at_start_is_named_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, open_directory: Path, service: ServiceName, program: str
) -> None:
    broken = open_directory / "sbin" / "rabbitmq-server"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho MariaDB\necho cannot allocate the frobnicator >&2\nexit 3\n")
    broken.chmod(0o755)
    find = binaries.find
    monkeypatch.setattr(binaries, "find", lambda name: broken if name == program else find(name))
    monkeypatch.setattr(rabbitmq, "_minimal_copy", lambda home, to: broken)

    with (
        pytest.raises(ServiceUnavailable, match=r"(?s)ended with exit code 3.*frobnicator") as raised,
        LocalEnvironment([service]),
    ):
        pass

    assert raised.value.service == service


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that every user can enter: PostgreSQL does not run as root."""
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")
def test_a_directory_that_the_user_of_postgresql_cannot_enter_is_named(
    monkeypatch: pytest.MonkeyPatch, open_directory: Path
) -> None:
    closed = open_directory / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(closed))

    with (
        pytest.raises(ServiceUnavailable, match=f"cannot enter {closed}; set TMPDIR to another directory"),
        LocalEnvironment(["postgresql"]),
    ):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user for PostgreSQL")
def test_a_machine_without_a_user_for_postgresql_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql_server, "SYSTEM_USERS", ("tasklab-nobody-1", "tasklab-nobody-2"))

    with (
        pytest.raises(ServiceUnavailable, match="there is no user tasklab-nobody-1 or tasklab-nobody-2"),
        LocalEnvironment(["postgresql"]),
    ):
        pass


def test_the_shared_memory_of_postgresql_ends_with_its_processes() -> None:
    with LocalEnvironment(["postgresql"]) as environment:
        pid_file = environment.directory / "postgresql" / "data" / "postmaster.pid"
        _, segment = pid_file.read_text().splitlines()[postgresql_server.PID_FILE_SEGMENT_LINE].split()
        rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()]
        (permissions,) = [row[2] for row in rows if row[1] == segment]

    assert int(permissions, 8) & SHM_DEST
    assert segment not in [line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()]


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


@pytest.mark.parametrize("service", ["mysql", "redis", "rabbitmq", "postgresql"])
def test_a_round_trip_is_red_when_the_service_is_down(service: str) -> None:
    closed = PortAllocator()
    port = closed.allocate()
    probes = {
        "mysql": lambda port: mysql.missing(mysql.MysqlAddress(LOOPBACK, port, "x", "y", "")),
        "redis": lambda port: redis.missing_write(LOOPBACK, port),
        "rabbitmq": lambda port: rabbitmq.missing(rabbitmq.RabbitmqAddress(LOOPBACK, port, "x", "y")),
        "postgresql": lambda port: postgresql.missing(postgresql.PostgresqlAddress(LOOPBACK, port, "x", "y", "")),
    }

    assert str(port) in probes[service](port)
    with deaf_server() as deaf:
        assert str(deaf) in probes[service](deaf)
    closed.close()


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

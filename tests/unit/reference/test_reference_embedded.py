"""The whole system as one real process: what it acknowledged survives kill -9, and a graceful end loses nothing."""

import json
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reference_impl import processes
from reference_impl.__main__ import main
from tests.unit.reference.embedded_process import ROOT, EmbeddedProcess

QUICK: dict[str, Any] = {
    "worker_slots": 3,
    "lease_s": 1.5,
    "heartbeat_s": 0.4,
    "relay_idle_s": 0.01,
    "relay_claim_s": 3.0,
    "confirm_timeout_s": 1.0,
    "sweep_s": 0.1,
    "lock_ttl_s": 1.0,
    "undelivered_after_s": 5.0,
    "new_tasks_per_minute": 10_000,
    "io_timeout_s": 5.0,
}
Start = Callable[..., EmbeddedProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[EmbeddedProcess] = []

    def start_one(**settings: Any) -> EmbeddedProcess:
        process = EmbeddedProcess(tmp_path, **{**QUICK, **settings})
        started.append(process)
        process.start()
        return process

    yield start_one
    for process in started:
        process.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedProcess]:
    """For tests that leave it as it is."""
    process = EmbeddedProcess(tmp_path_factory.mktemp("running"), **QUICK)
    process.start()
    yield process
    process.close()


def test_a_task_runs_and_its_user_sees_how_it_ended(running: EmbeddedProcess) -> None:
    """R8, R28, R29."""
    task_id = running.submit("one")

    running.wait_until(lambda: running.task(task_id)["status"] == "SUCCEEDED")

    assert running.task(task_id)["result"] == {"attempt": 1}
    assert running.states(task_id) == ["ACCEPTED", "RUNNING", "SUCCEEDED"]
    assert running.http.get("/health/ready").json() == {"database": "ok", "cache": "ok", "broker": "ok, 0 waiting"}


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill_and_is_done_once_each(start: Start) -> None:
    """R8, R9, R10, R13, R29: killed in the middle of running, waiting and just submitted tasks."""
    process = start(undelivered_after_s=600.0)  # the rescuer's safety net is not what is tried here
    gate = process.directory / "gate"
    held = [process.submit(f"held-{number}", gate=gate) for number in range(5)]
    process.wait_until(lambda: len(process.lines()) >= QUICK["worker_slots"])
    acknowledged = held + [process.submit(f"free-{number}") for number in range(20)]
    process.kill()
    ran_before = [line.split()[1] for line in process.lines()]

    process.start()
    again = [process.submit(f"held-{number}", gate=gate) for number in range(5)]
    gate.touch()
    process.wait_until(lambda: all(process.task(id_)["status"] == "SUCCEEDED" for id_ in acknowledged))

    ends = [line.split()[1] for line in process.lines() if line.startswith("end")]
    assert again == held, "what was acknowledged is known"
    assert len(ran_before) == QUICK["worker_slots"]
    assert sorted(ends) == sorted(acknowledged)
    for task_id in ran_before:
        assert process.states(task_id) == ["ACCEPTED", "RUNNING", "RETRYING", "RUNNING", "SUCCEEDED"]


@pytest.mark.slow
def test_a_graceful_end_finishes_what_runs(start: Start) -> None:
    """R20, R30: SIGTERM while a handler runs; its lease is kept for as long as it takes."""
    process = start(drain_s=60.0)
    gate = process.directory / "gate"
    task_id = process.submit("running", gate=gate)
    process.wait_until(lambda: len(process.lines()) == 1)

    process.send(signal.SIGTERM)
    process.wait_until(lambda: not process.is_live())
    first_lease_us = row_of(process, task_id)["lease_expires_us"]
    process.wait_until(lambda: row_of(process, task_id)["lease_expires_us"] > first_lease_us + QUICK["lease_s"] * 1e6)
    gate.touch()

    assert process.wait() == 0
    assert row_of(process, task_id)["status"] == "SUCCEEDED"
    assert process.lines() == [f"start {task_id} 1", f"end {task_id} 1"]
    assert "were interrupted" not in process.output()


@pytest.mark.slow
def test_a_graceful_end_gives_back_what_does_not_finish_in_time(start: Start) -> None:
    """R30: the next process runs the task again, after its lease has expired."""
    process = start(drain_s=0.2)
    gate = process.directory / "gate"
    task_id = process.submit("running", gate=gate)
    process.wait_until(lambda: len(process.lines()) == 1)

    process.send(signal.SIGTERM)
    code = process.wait()
    left_as = row_of(process, task_id)["status"]
    gate.touch()
    process.start()
    process.wait_until(lambda: process.task(task_id)["status"] == "SUCCEEDED")

    assert (code, left_as) == (0, "RUNNING")
    assert "unfinished attempts were interrupted" in process.output()
    assert process.states(task_id) == ["ACCEPTED", "RUNNING", "RETRYING", "RUNNING", "SUCCEEDED"]
    assert [line.split()[2] for line in process.lines()] == ["1", "2", "2"]


@pytest.mark.slow
def test_a_second_signal_kills_whichever_it_is(start: Start) -> None:
    """R30: like any other crash."""
    process = start(drain_s=600.0)
    process.submit("running", gate=process.directory / "never")
    process.wait_until(lambda: len(process.lines()) == 1)

    process.send(signal.SIGTERM)
    process.wait_until(lambda: not process.is_live())
    process.send(signal.SIGINT)

    assert process.wait() == -signal.SIGINT


def row_of(process: EmbeddedProcess, task_id: str) -> dict[str, Any]:
    """Straight from the file."""
    with closing(sqlite3.connect(process.directory / "reference.db")) as connection:
        connection.row_factory = sqlite3.Row
        return dict(connection.execute("SELECT * FROM tasks WHERE id = ?", (task_id,)).fetchone())


def talk(process: EmbeddedProcess, *parts: bytes) -> bytes:
    """What the server says to these bytes, until it closes."""
    with socket.create_connection(process.address, timeout=30.0) as connection:
        for part in parts:
            try:
                connection.sendall(part)
            except OSError:  # it has heard enough
                break
        said = b""
        try:
            while data := connection.recv(65536):
                said += data
        except ConnectionResetError:
            pass
        return said


CHUNKED = b"POST /tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
REQUESTS: dict[str, tuple[tuple[bytes, ...], bytes]] = {
    "no HTTP": ((b"\x00\xff\x16\x03\x01\r\n\r\n",), b"HTTP/1.1 400"),
    "a header without end": ((b"GET /health/live HTTP/1.1\r\nX: " + b"a" * 200_000,), b"HTTP/1.1 400"),
    "two lengths": (
        (b"POST /tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",),
        b"HTTP/1.1 400",
    ),
    "a length that is none": (
        (b"POST /tasks HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",),
        b"HTTP/1.1 400",
    ),
    "an endless chunked body": (
        (CHUNKED, *[b"4000\r\n" + b"x" * 0x4000 + b"\r\n"] * 5),
        b"HTTP/1.1 413",
    ),
    "a body longer than it may be": (
        (b"POST /tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", b"x" * 80_000),
        b"HTTP/1.1 413",
    ),
}


@pytest.mark.parametrize(("parts", "answer"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_that_is_none_is_refused_and_the_server_lives(
    running: EmbeddedProcess, parts: tuple[bytes, ...], answer: bytes
) -> None:
    """R25."""
    said = talk(running, *parts)

    assert said.startswith(answer)
    assert running.is_live()


def test_a_body_that_never_comes_whole_creates_nothing(running: EmbeddedProcess) -> None:
    before = running.http.get("/metrics").text.count('reference_tasks{state="ACCEPTED"} 0')
    with socket.create_connection(running.address, timeout=30.0) as connection:
        connection.sendall(b'POST /tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"user_id"')

    assert before == 1
    assert 'reference_tasks{state="ACCEPTED"} 0' in running.http.get("/metrics").text


def test_a_taken_port_ends_the_process_and_says_so(running: EmbeddedProcess, tmp_path: Path) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "reference_impl", "embedded"],
        cwd=ROOT,
        env={
            "REFERENCE_HTTP_PORT": str(running.address[1]),
            "REFERENCE_DATABASE_URL": f"sqlite:///{tmp_path / 'other.db'}",
            "REFERENCE_DRAIN_S": "5",
            "REFERENCE_AUTHENTICATION": "off",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert second.returncode not in {0, 2}
    assert "address already in use" in second.stderr
    assert running.is_live()


@pytest.mark.parametrize(
    ("arguments", "variables", "says"),
    [
        ([], {}, "usage:"),
        (["sweeper"], {}, "usage:"),
        (["api", "worker"], {}, "usage:"),
        (["worker"], {"LEASE": "3"}, "`lease`"),
        (["worker"], {"HEARTBEAT_S": "29"}, "lease_s must be at least 3 × heartbeat_s"),
        (["worker"], {"DATABASE_URL": "s3cr3t"}, "database_url is not an address"),
        (["worker"], {"BROKER_URL": "http://u:s3cr3t@h"}, "broker_url is not an address"),
        (["worker"], {"CACHE_URL": "s3cr3t://h"}, "cache_url or sentinels is not an address"),
        (["worker"], {"CACHE_URL": "redis://h", "SENTINELS": "host"}, "cache_url or sentinels is not an address"),
        (
            ["worker"],
            {"HANDLERS": "no.such.module:handle"},
            "'no.such.module:handle' cannot be loaded as package.module:attribute",
        ),
        (["worker"], {"OBSERVER": "os:nothing"}, "'os:nothing' cannot be loaded as package.module:attribute"),
    ],
)
def test_wrong_usage_ends_with_2_and_one_sentence(
    arguments: list[str], variables: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """R18: and no password in it."""
    monkeypatch.setattr(processes, "_run", lambda *_: True)
    monkeypatch.setattr(sys, "argv", ["reference_impl", *arguments])
    for name, value in variables.items():
        monkeypatch.setenv(f"REFERENCE_{name}", value)

    code = main()

    said = capsys.readouterr().err
    assert code == 2
    assert says in said
    assert "s3cr3t" not in said


def test_the_description_of_the_api_can_be_fetched(running: EmbeddedProcess) -> None:
    described = json.loads(running.http.get("/openapi.json").text)

    assert "/tasks" in described["paths"]

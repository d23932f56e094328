"""An app of RQ is read without a connection, and tested by its own decorator and RQ's own worker."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.services, pytest.mark.slow]

SECRET = "hunter2"
"""The password of the app's Redis."""
APPS = Path(__file__).parent / "apps"
COMMAND_TIMEOUT_S = 60
RUN_TIMEOUT_S = 300


def tasklab(python: Path, *arguments: str, timeout_s: float, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tasklab", *arguments, "--python", str(python)]
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=APPS, env=environment, capture_output=True, text=True, timeout=timeout_s)


def facts(python: Path, function: str, *more: str, **variables: str) -> dict[str, Any]:
    arguments = ["facts", "--json", "--rq", f"rq_app:{function}", *more]
    done = tasklab(python, *arguments, timeout_s=COMMAND_TIMEOUT_S, **variables)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def values(document: dict[str, Any], names: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """By its name the value of a fact, and its value in the lab."""
    stated = {fact["name"]: (fact["value"], fact.get("scaled")) for fact in document["facts"]}
    return {name: stated[name] for name in names}


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(0)
        yield server


def test_facts_are_read_without_a_connection(third_party_python: Path, listener: socket.socket) -> None:
    document = facts(third_party_python, "charge", RQ_APP_PORT=str(listener.getsockname()[1]))

    with pytest.raises(BlockingIOError):
        listener.accept()
    assert values(document, ("queue", "retry", "timeout", "lease", "worker_ttl", "maintenance_interval")) == {
        "queue": ("payments", None),
        "retry": ("3", None),
        "timeout": ("30 s", None),
        "lease": ("90 s", "62 s"),
        "worker_ttl": ("420 s", "17 s"),
        "maintenance_interval": ("600 s", "2 s"),
    }
    assert document["pace"]["lease_s"] == 62.0
    assert document["policy"]["attempts_max"] == 4


def test_long_waits_stay_where_the_user_says_so(third_party_python: Path) -> None:
    document = facts(third_party_python, "ship", "--unscaled", "--worker=--with-scheduler --worker-ttl 30")

    assert values(document, ("intervals", "scheduler", "worker_ttl", "lease")) == {
        "intervals": ("[10, 30, 60]", None),
        "scheduler": ("runs", None),
        "worker_ttl": ("30 s", None),
        "lease": ("90 s", None),
    }
    assert document["policy"]["delays_s"] == [[9.0, 12.0], [29.0, 32.0], [59.0, 62.0]]


def test_a_plain_function_has_the_defaults_of_the_library(third_party_python: Path) -> None:
    document = facts(third_party_python, "mail")

    assert values(document, ("queue", "retry", "timeout")) == {
        "queue": ("default", None),
        "retry": ("0", None),
        "timeout": ("180 s", None),
    }


@pytest.mark.parametrize(
    ("place", "more", "said"),
    [
        ("rq_app:chrage", (), "did you mean charge?"),
        ("rq_app:connection", (), "its functions with a decorator of RQ are charge, ship"),
        ("rq_app:nameless", (), "rq_app:nameless is a lambda"),
        ("rq_app:Shop.refund", (), "rq_app:Shop.refund is a method: no worker of RQ has an object to call it on"),
        ("ends_at_import:charge", (), "with exit code 3; its last line: no licence for this machine"),
        ("rq_app:charge", ("--claims= ",), "--claims names no promise"),
        ("rq_app:charge", ("--worker=--worker-tlt 30",), "--worker-ttl"),
        ("rq_app:charge", ("--worker=--name one",), "two workers cannot have one name"),
    ],
)
def test_what_does_not_exist_is_answered_with_the_nearest_names(
    third_party_python: Path, place: str, more: tuple[str, ...], said: str
) -> None:
    done = tasklab(third_party_python, "facts", "--rq", place, *more, timeout_s=COMMAND_TIMEOUT_S)

    assert done.returncode == 2
    assert said in done.stderr


def test_the_job_of_a_killed_worker_is_retried_after_its_lease(
    third_party_python: Path, listener: socket.socket, tmp_path: Path
) -> None:
    arguments = ["run", "worker_killed_after_effect", "--json", "--out", str(tmp_path), "--seed", "1"]
    app = {"RQ_APP_PORT": str(listener.getsockname()[1])}
    done = tasklab(third_party_python, *arguments, "--rq", "rq_app:charge", timeout_s=RUN_TIMEOUT_S, **app)

    assert done.stdout, done.stderr
    (one,) = json.loads(done.stdout)["runs"]
    assert one["problems"] == []
    assert {name: said["reason"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert one["verdicts"]["duplicates_explained"]["exercised"], "nothing was delivered again"
    assert done.returncode == 0
    with pytest.raises(BlockingIOError):
        listener.accept()
    written = {file: file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()}
    assert [file for file, content in written.items() if SECRET in content + done.stdout + done.stderr] == []

"""An app of Procrastinate is read without a connection, and tested on a PostgreSQL of the lab by Procrastinate's own worker."""

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
"""The password of the app's PostgreSQL."""
APPS = Path(__file__).parent / "apps"
COMMAND_TIMEOUT_S = 60
RUN_TIMEOUT_S = 300


@pytest.fixture
def production() -> Iterator[socket.socket]:
    """The address that the app states. Nothing may reach it."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(0)
        yield server
        with pytest.raises(BlockingIOError):
            server.accept()


def tasklab(
    python: Path, production: socket.socket, *arguments: str, timeout_s: float = COMMAND_TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tasklab", *arguments, "--python", str(python)]
    environment = {
        **os.environ,
        "PROCRASTINATE_APP_PORT": str(production.getsockname()[1]),
        "PGHOSTADDR": "127.0.0.9",  # libpq would go there: it adds what its caller does not state
        "PGSSLMODE": "require",
    }
    return subprocess.run(command, cwd=APPS, env=environment, capture_output=True, text=True, timeout=timeout_s)


def facts(python: Path, production: socket.socket, task: str, *more: str) -> dict[str, Any]:
    arguments = ["facts", "--json", "--procrastinate", "procrastinate_app:app", "--task", task, *more]
    done = tasklab(python, production, *arguments)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def values(document: dict[str, Any], names: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """By its name the value of a fact, and its value in the lab."""
    stated = {fact["name"]: (fact["value"], fact.get("scaled")) for fact in document["facts"]}
    return {name: stated[name] for name in names}


def test_facts_are_read_without_a_connection(third_party_python: Path, production: socket.socket) -> None:
    document = facts(third_party_python, production, "charge")

    names = ("queue", "retry", "stalled jobs", "lease", "update_heartbeat_interval", "stalled_worker_timeout")
    assert values(document, names) == {
        "queue": ("payments", None),
        "retry": ("[60.0, 60.0]", "[3.0, 3.0]"),
        "stalled jobs": ("procrastinate_app.retry_stalled_jobs at */10 * * * *", "* * * * * */2"),
        "lease": ("30 s", "6 s"),
        "update_heartbeat_interval": ("5 s", "1 s"),
        "stalled_worker_timeout": ("30 s", "6 s"),
    }
    assert document["policy"]["attempts_max"] == 3
    assert document["pace"]["lease_s"] == 6.0


def test_long_waits_stay_where_the_user_says_so(third_party_python: Path, production: socket.socket) -> None:
    document = facts(third_party_python, production, "charge", "--unscaled", "--worker=--delete-jobs always -c 4")

    assert values(document, ("retry", "lease", "update_heartbeat_interval", "concurrency", "delete_jobs")) == {
        "retry": ("[60.0, 60.0]", None),
        "lease": ("30 s", None),
        "update_heartbeat_interval": ("5 s", None),
        "concurrency": ("4", None),
        "delete_jobs": ("always", None),
    }
    assert "outcome_reported" not in document["claims"]


@pytest.mark.parametrize(
    ("place", "task", "more", "said"),
    [
        ("procrastinate_app:app", "chrage", (), "did you mean charge"),
        ("procrastinate_app:ap", "charge", (), "did you mean app"),
        ("procrastinate_app:port", "charge", (), "is no App of Procrastinate but a str"),
        ("procrastinate_app:silent", "charge", (), "its connector is a SyncPsycopgConnector"),
        ("procrastinate_app:app", "charge", ("--worker=--concurency 3",), "--concurency"),
        (
            "procrastinate_app:app",
            "charge",
            ("--worker=--queues parcels",),
            "no worker takes jobs of the queue 'payments'",
        ),
        ("procrastinate_app:app", "charge", ("--worker=--one-shot",), "a worker ends when its queues are empty"),
        ("connects_procrastinate_app:app", "charge", (), "connects_procrastinate_app connects to 127.0.0."),
        ("opens_procrastinate_app:app", "charge", (), "opens_procrastinate_app connects to 127.0.0."),
    ],
)
def test_what_cannot_be_tested_is_said_before_anything_starts(
    third_party_python: Path, production: socket.socket, place: str, task: str, more: tuple[str, ...], said: str
) -> None:
    done = tasklab(third_party_python, production, "facts", "--procrastinate", place, "--task", task, *more)

    assert done.returncode == 2
    assert said in done.stderr


def run(python: Path, production: socket.socket, out: Path, scenario: str, *chosen: str) -> dict[str, Any]:
    arguments = ["run", scenario, "--json", "--out", str(out), "--seed", "1", *chosen]
    done = tasklab(python, production, *arguments, timeout_s=RUN_TIMEOUT_S)
    assert done.stdout, done.stderr
    (one,) = json.loads(done.stdout)["runs"]
    assert one["problems"] == []
    written = {file: file.read_text(errors="replace") for file in out.rglob("*") if file.is_file()}
    assert [file for file, content in written.items() if SECRET in content + done.stdout + done.stderr] == []
    document: dict[str, Any] = one
    return document


def test_the_job_of_a_killed_worker_is_retried_by_the_apps_own_task(
    third_party_python: Path, production: socket.socket, tmp_path: Path
) -> None:
    app = ("--procrastinate", "procrastinate_app:app", "--task", "charge")

    one = run(third_party_python, production, tmp_path, "worker_killed_after_effect", *app)

    assert {name: said["reason"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert one["verdicts"]["duplicates_explained"]["exercised"], "nothing was run again"


def test_without_such_a_task_it_is_stuck_as_documented(
    third_party_python: Path, production: socket.socket, tmp_path: Path
) -> None:
    defaults = ("--system", "procrastinate@defaults")

    one = run(third_party_python, production, tmp_path, "worker_killed_after_effect", *defaults)

    broken = {name for name, said in one["verdicts"].items() if said["verdict"] == "broken"}
    assert broken == {"no_stuck_task"}
    assert "retry_stalled_jobs.html" in one["documented"]["no_stuck_task"]

"""Django projects with Celery (as its tutorial has it), Dramatiq and RQ: settings are read, neither broker nor database is contacted."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.adapters.adapted import REFUSED, SHIMS

PROJECT = Path(__file__).parent / "apps" / "django_shop"
CELERY = ("--celery", "proj.celery:app", "--task", "orders.tasks.charge")
DRAMATIQ = ("--dramatiq", "orders.actors:charge")
RQ = ("--rq", "orders.jobs:charge")
RUN_TIMEOUT_S = 240
DRIVERS = (
    "import psycopg; psycopg.connect('host=localhost port={port} connect_timeout=2')",
    "import asyncio, psycopg; asyncio.run(psycopg.AsyncConnection.connect('host=127.0.0.1 port={port}'))",
    "import psycopg2; psycopg2.connect(host='localhost', port={port}, user='shop')",
    "import psycopg2; psycopg2.connect('postgresql://shop:secret@127.0.0.1:{port}/shop')",
)


@pytest.fixture
def production() -> Iterator[socket.socket]:
    """A listener in the place of the broker, the cache and the database of the project."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def tasklab(
    python: Path, production: socket.socket, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """The command, in the directory of the project; afterwards the listener has seen no connection."""
    done = subprocess.run(
        [sys.executable, "-m", "tasklab", *arguments, "--python", str(python)],
        cwd=PROJECT,
        env={**os.environ, "SHOP_PORT": str(port_of(production)), **variables},
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
    )
    with pytest.raises(BlockingIOError):
        production.accept()
    return done


@pytest.mark.slow
def test_the_settings_of_the_project_are_the_app_s(third_party_python: Path, production: socket.socket) -> None:
    done = tasklab(third_party_python, production, "facts", *CELERY, "--json")

    facts = json.loads(done.stdout)
    values = {fact["name"]: fact["value"] for fact in facts["facts"]}
    assert values["acks_late"] == values["reject_on_worker_lost"] == values["confirm_publish"] == "True"
    assert facts["needs"] == ["rabbitmq", "redis"]


@pytest.mark.slow
@pytest.mark.parametrize(("app", "queue"), [(DRAMATIQ, "default"), (RQ, "default")], ids=["dramatiq", "rq"])
def test_a_project_is_set_up_where_the_library_does_not_do_it(
    third_party_python: Path, production: socket.socket, app: tuple[str, ...], queue: str
) -> None:
    done = tasklab(third_party_python, production, "facts", *app, "--json", DJANGO_SETTINGS_MODULE="proj.settings")

    assert done.returncode == 0, done.stderr
    facts = {fact["name"]: fact["value"] for fact in json.loads(done.stdout)["facts"]}
    assert facts["queue"] == queue


@pytest.mark.services
@pytest.mark.slow
@pytest.mark.parametrize("app", [CELERY, DRAMATIQ], ids=["celery", "dramatiq"])
def test_the_task_of_a_project_is_done_although_a_worker_is_killed(
    third_party_python: Path, production: socket.socket, tmp_path: Path, app: tuple[str, ...]
) -> None:
    chosen = ("run", "worker_killed_after_effect", *app, "--seed", "3", "--json", "--out", str(tmp_path))
    done = tasklab(third_party_python, production, *chosen, DJANGO_SETTINGS_MODULE="proj.settings")

    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["problems"] == []
    assert run["verdicts"]["duplicates_explained"]["exercised"], "nothing was delivered again"


@pytest.mark.slow
@pytest.mark.parametrize("code", DRIVERS)
def test_drivers_with_sockets_of_their_own_are_refused_too(
    third_party_python: Path, production: socket.socket, code: str
) -> None:
    command = [third_party_python, "-c", "import tasklab_adapter; " + code.format(port=port_of(production))]
    done = subprocess.run(command, env={"PYTHONPATH": str(SHIMS)}, capture_output=True, text=True, check=False)

    assert REFUSED in done.stderr
    assert done.returncode == 1
    with pytest.raises(BlockingIOError):
        production.accept()

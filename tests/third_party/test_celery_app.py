"""An app of Celery that knows nothing of the lab: what the lab reads of it, and what it says of its configuration."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.services, pytest.mark.slow]

APPS = Path(__file__).parent / "apps"
RUN_TIMEOUT_S = 240


@pytest.fixture
def shop() -> Iterator[socket.socket]:
    """A listener in the place of the app's own services."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def tasklab(python: Path, shop: socket.socket, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in the directory of the app; afterwards its own services have seen no connection."""
    environment = {**os.environ, "SHOP_PORT": str(shop.getsockname()[1])}
    done = subprocess.run(
        [sys.executable, "-m", "tasklab", *arguments, "--python", str(python)],
        cwd=APPS,
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
    )
    with pytest.raises(BlockingIOError):
        shop.accept()
    return done


def run(python: Path, shop: socket.socket, out: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """One run: the exit code, and what --json printed of it."""
    done = tasklab(python, shop, "run", *arguments, "--json", "--out", str(out))
    assert done.stdout, done.stderr
    (one,) = json.loads(done.stdout)["runs"]
    return done.returncode, one


def test_the_facts_of_an_app_are_read_without_a_connection(third_party_python: Path, shop: socket.socket) -> None:
    done = tasklab(third_party_python, shop, "facts", "--celery", "celery_app:app", "--task", "shop.charge", "--json")

    told = json.loads(done.stdout)
    values = {fact["name"]: (fact["value"], fact["scaled"]) for fact in told["facts"]}
    assert values["queue"] == ("payments", None)
    assert values["acks_late"] == ("True", None)
    assert values["confirm_publish"] == ("True", None)
    assert values["broker_heartbeat"] == ("120 s", "4 s")
    assert values["retry_backoff_max"] == ("600 s", "1 s")
    assert told["needs"] == ["rabbitmq", "redis"]
    assert told["policy"]["attempts_max"] == 5
    assert told["policy"]["delays_s"] == [[1.0, 2.0]] * 4


@pytest.mark.parametrize(
    ("place", "task", "nearest"),
    [
        ("celery_app:ap", "shop.charge", "did you mean app?"),
        ("celery_app:app", "shop.charg", "did you mean shop.charge"),
        ("celery_app:PORT", "shop.charge", "its apps are app, early"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(
    third_party_python: Path, shop: socket.socket, place: str, task: str, nearest: str
) -> None:
    done = tasklab(third_party_python, shop, "facts", "--celery", place, "--task", task)

    assert done.returncode == 2
    assert nearest in done.stderr


def test_an_app_that_acknowledges_late_keeps_its_promises_when_a_worker_is_killed(
    third_party_python: Path, shop: socket.socket, tmp_path: Path
) -> None:
    chosen = ("worker_killed_after_effect", "--celery", "celery_app:app", "--task", "shop.charge", "--seed", "7")
    code, one = run(third_party_python, shop, tmp_path, *chosen)

    assert one["problems"] == []
    assert {name: said["reason"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert one["verdicts"]["duplicates_explained"]["exercised"], "nothing was delivered again"
    assert code == 0


def test_an_app_that_acknowledges_early_loses_what_a_killed_worker_had_in_hand(
    third_party_python: Path, shop: socket.socket, tmp_path: Path
) -> None:
    chosen = ("worker_lost", "--celery", "celery_app:early", "--task", "shop.mail", "--seed", "7")
    code, one = run(third_party_python, shop, tmp_path, *chosen)

    assert one["problems"] == []
    assert one["verdicts"]["no_lost_task"]["verdict"] == "broken"
    assert code == 1

"""A task's own code stays in place: it runs with the stated arguments, and its effects are those that it tells."""

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
CELERY = ("--celery", "own_body_app:app", "--task", "shop.charge")
RUN_TIMEOUT_S = 240


@pytest.fixture
def shop() -> Iterator[socket.socket]:
    """A listener in the place of the app's own services."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def tasklab(python: Path, shop: socket.socket, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in the directory of the app; afterwards its own services have seen no connection."""
    done = subprocess.run(
        [sys.executable, "-m", "tasklab", *arguments, "--keep-body", "--python", str(python)],
        cwd=APPS,
        env={**os.environ, "SHOP_PORT": str(shop.getsockname()[1])},
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
    )
    with pytest.raises(BlockingIOError):
        shop.accept()
    return done


@pytest.mark.parametrize(
    ("app", "arguments", "step"),
    [
        (CELERY, "own_body_app:arguments", 2),
        (("--dramatiq", "own_body_app:mail"), "[17]", "returned"),
    ],
    ids=["celery", "dramatiq"],
)
def test_the_code_of_a_task_runs_in_a_worker_that_is_killed(
    third_party_python: Path, shop: socket.socket, tmp_path: Path, app: tuple[str, ...], arguments: str, step: object
) -> None:
    chosen = ("run", "worker_killed_after_effect", *app, "--arguments", arguments, "--seed", "3")
    done = tasklab(third_party_python, shop, *chosen, "--json", "--out", str(tmp_path))

    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["problems"] == []
    assert run["verdicts"]["duplicates_explained"]["exercised"], "nothing was delivered again"
    assert {event["step"] for event in events_of(tmp_path, "effect")} == {step}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "missing a required argument: 'order'"),
        (("--arguments", '{"order": 1, "amount": 1, "color": 1}'), "got an unexpected keyword argument 'color'"),
        (("--arguments", "{"), "is no JSON"),
        (("--arguments", "own_body_app:argument"), "did you mean arguments"),
    ],
)
def test_arguments_that_do_not_fit_the_code_are_refused(
    third_party_python: Path, shop: socket.socket, arguments: tuple[str, ...], why: str
) -> None:
    done = tasklab(third_party_python, shop, "facts", *CELERY, *arguments)

    assert done.returncode == 2
    assert why in done.stderr


def events_of(place: Path, name: str) -> list[dict[str, Any]]:
    """The events of that name in the histories below a directory."""
    files = place.rglob("history.*.jsonl")
    events = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [event for event in events if event["event"] == name]

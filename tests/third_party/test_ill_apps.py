"""Apps that do something at their import: what the lab cannot read is said in a sentence, and nothing is contacted or left behind."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

APPS = Path(__file__).parent / "apps"
APP = ("--celery", "ill_app:app", "--task", "shop.charge")
TIMEOUT_S = 60


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def facts(python: Path, listener: socket.socket, does: str, *more: str) -> subprocess.CompletedProcess[str]:
    """The facts of the app that does this; it reaches nothing, and none of its passwords is shown."""
    done = subprocess.run(
        [sys.executable, "-m", "tasklab", "facts", *APP, *more, "--python", str(python)],
        cwd=APPS,
        env={**os.environ, "SHOP_DOES": does, "SHOP_PORT": str(listener.getsockname()[1])},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert "hunter2" not in done.stdout + done.stderr
    return done


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("raise", "ill_app cannot be imported: ValueError: amqp://shop:***@localhost:5672/prod is not there"),
        ("connect", "while it is imported; nothing was contacted"),
        ("connect in a thread", "while it is imported; nothing was contacted"),
        ("end", "its process ended by itself, with exit code 3"),
        ("wait", "it has not answered describe for 3 s; its process was killed; its last line: loading the model"),
    ],
)
def test_an_app_that_cannot_be_read_is_told_why(
    third_party_python: Path, listener: socket.socket, does: str, why: str
) -> None:
    done = facts(third_party_python, listener, does, "--plugin-timeout", "3")

    assert why in done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize("does", ["nothing", "print", "fork"])
def test_what_an_app_prints_or_forks_does_not_disturb(
    third_party_python: Path, listener: socket.socket, does: str
) -> None:
    done = facts(third_party_python, listener, does)

    assert done.returncode == 0, done.stderr


def test_a_setting_that_a_variable_replaces_names_the_variable(
    third_party_python: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://:hunter2@localhost/3")

    done = facts(third_party_python, listener, "nothing")

    (broker,) = [line for line in done.stdout.splitlines() if " broker " in line]
    assert [cell.strip() for cell in broker.split("│")[1:5]] == [
        "broker",
        "redis",
        "",
        "the variable CELERY_BROKER_URL",
    ]


def test_names_of_settings_are_whole_on_a_narrow_terminal(
    third_party_python: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    done = facts(third_party_python, listener, "nothing")

    assert " worker_prefetch_multiplier " in done.stdout

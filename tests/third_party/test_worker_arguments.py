"""The user's worker command: arguments that it does not take are named at once, and other pools and queues are tested like the default."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

APPS = Path(__file__).parent / "apps"
CELERY = ("--celery", "celery_app:app", "--task", "shop.charge")
DRAMATIQ = ("--dramatiq", "dramatiq_app:charge")
RUN_TIMEOUT_S = 240
SECRET = "hunter2"
"""The password in all addresses of the apps."""


@pytest.fixture
def shop() -> Iterator[socket.socket]:
    """A listener in the place of the apps' own services."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def tasklab(python: Path, shop: socket.socket, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in the directory of the apps; afterwards their own services have seen no connection."""
    done = subprocess.run(
        [sys.executable, "-m", "tasklab", *arguments, "--python", str(python)],
        cwd=APPS,
        env={**os.environ, "SHOP_HOST": "127.0.0.1", "SHOP_PORT": str(shop.getsockname()[1])},
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
    )
    with pytest.raises(BlockingIOError):
        shop.accept()
    assert SECRET not in done.stdout + done.stderr
    return done


@pytest.mark.parametrize(
    ("app", "worker", "why"),
    [
        (CELERY, "--nonsense", "celery worker does not take these arguments: No such option '--nonsense'"),
        (CELERY, "--concurrency many", "must be a non-negative integer or 'auto', got 'many'"),
        (CELERY, "--queues default", "no worker takes messages of the queue 'payments' of the task"),
        (CELERY, "--exclude-queues payments", "no worker takes messages of the queue 'payments' of the task"),
        (CELERY, "--beat", "beat would send the app's own tasks; leave it out"),
        (CELERY, "--detach", "the lab would lose sight of a worker that goes into the background"),
        (CELERY, "-n shop@host", "two workers cannot have one name"),
        (CELERY, "--pool-start-method spawn", "without the lab's handler: use fork"),
        (DRAMATIQ, "--nonsense", "dramatiq does not take these arguments"),
        (DRAMATIQ, "dramatiq-gevent --processes many", "dramatiq-gevent does not take these arguments"),
        (
            DRAMATIQ,
            "--queues default",
            "no worker takes messages of the queue 'orders' of the actor: they take default",
        ),
    ],
)
def test_arguments_with_which_no_worker_takes_the_task_are_refused_before_anything_starts(
    third_party_python: Path, shop: socket.socket, tmp_path: Path, app: tuple[str, ...], worker: str, why: str
) -> None:
    chosen = ("run", "worker_lost", *app, f"--worker={worker}", "--out", str(tmp_path))
    done = tasklab(third_party_python, shop, *chosen)

    assert done.returncode == 2
    assert why in done.stderr
    assert "services are up" not in done.stderr


@pytest.mark.services
@pytest.mark.parametrize(
    ("app", "worker"),
    [
        (CELERY, "--pool gevent --concurrency 10 --queues mails,payments"),
        (DRAMATIQ, "dramatiq-gevent --threads 10 --queues orders default"),
    ],
    ids=["celery", "dramatiq"],
)
def test_workers_of_greenlets_and_several_queues_keep_what_their_library_promises(
    third_party_python: Path, shop: socket.socket, tmp_path: Path, app: tuple[str, ...], worker: str
) -> None:
    chosen = ("run", "worker_killed_after_effect", *app, "--worker", worker, "--seed", "4")
    done = tasklab(third_party_python, shop, *chosen, "--json", "--out", str(tmp_path))

    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["problems"] == []
    assert run["verdicts"]["duplicates_explained"]["exercised"], "nothing was delivered again"
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and SECRET in file.read_text(errors="replace")]

"""docs/examples/own_service: its broker is started by the lab from tasklab.toml, struck as the broker, and judged."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.leftovers import find_leftovers

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
FORGETS = '["sh", "-c", "rm -f {data}/journal; exec python3 broker.py {port} {data}"]'


def run(place: Path, *scenarios: str) -> tuple[int, list[dict[str, Any]]]:
    line = [sys.executable, "-m", "tasklab", "run", *scenarios, "--seed", "3", "--out", str(place / "out"), "--json"]
    done = subprocess.run(
        line,
        cwd=place,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["runs"]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "docs" / "examples" / "own_service", tmp_path / "own_service"))


@pytest.mark.slow
def test_a_broker_that_keeps_a_journal_loses_nothing_when_it_is_killed(example: Path) -> None:
    code, (one,) = run(example, "broker_killed")

    assert {verdict["verdict"] for verdict in one["verdicts"].values()} == {"held"}
    assert code == 0
    facts = json.loads((Path(one["directory"]) / "run.json").read_text())
    assert [strike["target"] for strike in facts["strikes"]] == ["queue"]
    assert (Path(one["directory"]) / "logs" / "service-queue.log").read_text() == "listens\n" * 2


@pytest.mark.slow
def test_a_broker_that_forgets_loses_tasks(example: Path) -> None:
    file = example / "tasklab.toml"
    stated = file.read_text()
    forgetting = stated.replace('["python3", "broker.py", "{port}", "{data}"]', FORGETS)
    assert forgetting != stated
    file.write_text(forgetting)

    code, (one,) = run(example, "broker_killed")

    assert one["verdicts"]["no_lost_task"]["verdict"] == "broken"
    assert code == 1


def test_a_client_command_that_ends_at_once_is_said_with_its_last_line(example: Path) -> None:
    file = example / "tasklab.toml"
    file.write_text(
        file.read_text().replace('client = ["./client.py"]', 'client = ["sh", "-c", "echo no broker >&2; exit 4"]')
    )
    line = [sys.executable, "-m", "tasklab", "run", "broker_killed", "--out", str(example / "out")]

    done = subprocess.run(line, cwd=example, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)

    assert "process ended by itself, with exit code 4; its last line: no broker" in done.stdout + done.stderr
    assert done.returncode == 3


@pytest.mark.slow
def test_an_interrupted_run_leaves_nothing_of_it(example: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**ENVIRONMENT, "TMPDIR": str(scratch)}
    line = [sys.executable, "-m", "tasklab", "run", "broker_killed", "--seed", "3", "--out", str(tmp_path / "out")]
    with subprocess.Popen(line, cwd=example, env=environment, stderr=subprocess.PIPE, text=True) as lab:
        assert lab.stderr
        while "storm" not in (said := lab.stderr.readline()):
            assert said, "it ended before the storm"
        (directory, *_) = scratch.glob("*/runs/*/services/queue")
        lab.send_signal(signal.SIGTERM)  # as Ctrl-C
        lab.communicate(timeout=60)

    assert lab.returncode == 130
    assert find_leftovers(directory.parents[3]) == []
    assert list(scratch.iterdir()) == []


@pytest.mark.services
def test_its_links_are_struck_between_a_worker_and_it(example: Path) -> None:
    code, (one,) = run(example, "broker_connection_reset")

    assert {verdict["verdict"] for verdict in one["verdicts"].values()} == {"held"}
    assert code == 0

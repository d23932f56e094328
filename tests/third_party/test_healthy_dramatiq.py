"""Dramatiq on RabbitMQ acknowledges late, and is healthy: killing its workers raises no alarm.

`make test-kills` kills twenty workers; `make test` a few of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.services, pytest.mark.slow]

PLACE = Path(__file__).parent
KILLS = int(os.environ.get("TASKLAB_KILLS", "2"))
RUN_TIMEOUT_S = 180


def run(python: Path, scenario: str, seed: int, out: Path) -> tuple[int, dict[str, Any]]:
    """One run: the exit code, and what --json printed of the run."""
    command = [sys.executable, "-m", "tasklab", "run", scenario, "--json", "--out", str(out)]
    command += ["--system", "healthy_dramatiq.lab:system", "--python", str(python), "--seed", str(seed)]
    done = subprocess.run(command, cwd=PLACE, capture_output=True, text=True, timeout=RUN_TIMEOUT_S)
    assert done.stdout, done.stderr
    (one,) = json.loads(done.stdout)["runs"]
    return done.returncode, one


@pytest.mark.parametrize("seed", range(1, KILLS + 1))
def test_a_killed_worker_of_a_healthy_system_breaks_no_promise(
    third_party_python: Path, tmp_path: Path, seed: int
) -> None:
    code, one = run(third_party_python, "worker_killed_after_effect", seed, tmp_path)

    assert one["problems"] == []
    assert {name: said["verdict"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert one["verdicts"]["duplicates_explained"]["exercised"], "nothing was delivered again"
    assert code == 0


def test_a_lost_acknowledgement_explains_what_was_under_way_on_its_connection(
    third_party_python: Path, tmp_path: Path
) -> None:
    code, one = run(third_party_python, "ack_lost", 1, tmp_path)

    assert one["problems"] == []
    assert {name: said["verdict"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert code == 0


@pytest.mark.parametrize("scenario", ["ack_lost", "broker_killed"])
def test_what_a_busy_worker_had_prefetched_runs_there_and_where_it_is_delivered_next(
    third_party_python: Path, tmp_path: Path, scenario: str
) -> None:
    code, one = run(third_party_python, f"healthy_dramatiq.busy:{scenario}", 1, tmp_path)

    assert one["problems"] == []
    assert {name: said["reason"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert code == 0


def test_tasks_that_kill_the_process_below_the_one_that_the_lab_started_break_no_promise(
    third_party_python: Path, tmp_path: Path
) -> None:
    code, one = run(third_party_python, "poison_tasks", 3, tmp_path)

    assert one["problems"] == []
    assert {name: said["reason"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert code == 0

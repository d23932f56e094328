"""BullMQ through tasklab.toml, without a line of Python: its client conforms, and a killed worker breaks no promise."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.services, pytest.mark.slow]

TIMEOUT_S = 120


def tasklab(place: Path, command: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tasklab", command, *arguments, "--json"],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, document


def test_its_client_and_its_workers_conform(bullmq: Path, tmp_path: Path) -> None:
    code, document = tasklab(bullmq, "conform", "--out", str(tmp_path))

    marks = {one["word"]: one["mark"] for one in document["findings"]}
    assert {word: mark for word, mark in marks.items() if mark not in ("ok", "skipped")} == {}
    tried = {"key", "cancel", "pause", "resume", "redrive", "result", "due", "restart"}
    assert {word for word in tried if marks.get(word) == "ok"} == tried
    assert code == 0


def test_the_job_of_a_killed_worker_stalls_and_is_run_again(bullmq: Path, tmp_path: Path) -> None:
    code, document = tasklab(bullmq, "run", "worker_killed_after_effect", "--seed", "1", "--out", str(tmp_path))

    (one,) = document["runs"]
    assert one["problems"] == []
    assert {name: said["reason"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert one["verdicts"]["duplicates_explained"]["exercised"], "no job was run again"
    assert code == 0

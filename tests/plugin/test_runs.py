"""What a run makes of a plug-in that misbehaves in the storm: unknown, at once, with one sentence that names it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
SCENARIO = "worker_killed_after_effect"


def command(system: str, out: Path, *more: str) -> list[str]:
    line = [sys.executable, "-m", "tasklab", "run", SCENARIO, "--system", system, "--environment", "embedded"]
    return [*line, "--seed", "7", "--out", str(out), "--json", *more]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}:{EXAMPLES}"}


def run(system: str, out: Path, *more: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        command(system, out, *more),
        cwd=EXAMPLES / "plain",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout, done.stderr
    (one,) = json.loads(done.stdout)["runs"]
    return done.returncode, one


@pytest.mark.parametrize(
    ("attribute", "problem"),
    [
        ("hangs", "the plug-in has not answered invoke for 6 s; its process was killed"),
        ("exits", "the plug-in of lazy failed in invoke(ReadStatus): it called sys.exit(0)"),
        ("raises", "the plug-in of lazy failed in invoke(ReadStatus): KeyError('no such table')"),
        ("dies", "the plug-in's process ended by itself, with exit code 0"),
    ],
)
def test_a_plug_in_that_fails_in_the_storm_makes_the_run_unknown_and_is_named(
    tmp_path: Path, attribute: str, problem: str
) -> None:
    code, one = run(f"tests.plugin.lazy:{attribute}", tmp_path, "--plugin-timeout", "6")

    assert one["problems"] == [problem]
    assert code == 3


def test_a_plug_in_that_prints_spoils_nothing(tmp_path: Path) -> None:
    code, one = run("tests.plugin.lazy:prints", tmp_path)

    assert one["problems"] == []
    assert code == 1  # Acme loses the task whose worker is killed
    log = Path(one["directory"]) / "logs" / "client-process.log"
    assert set(log.read_text().split()) == {"{}"}


def test_a_pace_below_zero_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    done = subprocess.run(
        command("tests.plugin.lazy:impatient", tmp_path),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 2
    assert "states pace.quiet_s = -5: it must be a number of seconds above 0" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_speaks_the_protocol_is_a_system(tmp_path: Path) -> None:
    code, one = run("./client.py", tmp_path)

    assert {name: said["verdict"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert code == 0


def test_an_interrupt_ends_the_lab_whatever_hangs(tmp_path: Path) -> None:
    lab = subprocess.Popen(
        command("tests.plugin.lazy:hangs", tmp_path), cwd=ROOT, env=environment(), stderr=subprocess.PIPE, text=True
    )
    with lab:
        assert lab.stderr
        while "storm" not in lab.stderr.readline():
            pass
        began_s = time.monotonic()
        lab.send_signal(signal.SIGTERM)  # as Ctrl-C
        lab.communicate(timeout=60)

    assert lab.returncode == 130
    assert time.monotonic() - began_s < 20  # not as long as an operation may take; in practice two seconds


def test_a_directory_with_a_description_needs_no_option_and_no_host(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "tasklab", "run", "--seed", "7", "--out", str(tmp_path), "--json"]
    done = subprocess.run(line, cwd=EXAMPLES / "plain", env=environment(), capture_output=True, text=True, timeout=120)

    (one,) = json.loads(done.stdout)["runs"]
    assert {name: said["verdict"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert [one["scenario"], one["system"], one["environment"]] == [SCENARIO, "plain", "embedded"]
    facts = json.loads((Path(one["directory"]) / "run.json").read_text())
    assert facts["repeat"] == f"tasklab run {SCENARIO} --config tasklab.toml --environment embedded --seed 7"
    assert done.returncode == 0

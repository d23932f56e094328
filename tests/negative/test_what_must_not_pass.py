"""The lab does not pass what it should not: faults that miss, runs that did nothing, systems that lie."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.load_process import load

EMBEDDED = ("--environment", "embedded", "--seed", "1")
ROOT = Path(__file__).parents[2]


def run(place: Path, scenario: str, system: str = "reference") -> dict[str, Any]:
    """One run in the embedded world, as a process of its own."""
    command = [sys.executable, "-m", "tasklab", "run", scenario, "--system", system]
    command += ["--environment", "embedded", "--seed", "1", "--out", str(place), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    one: dict[str, Any] = json.loads(done.stdout)["runs"][0]
    assert one["exit_code"] == done.returncode
    return one


def test_a_fault_that_never_bit_makes_the_run_unknown(tmp_path: Path) -> None:
    one = run(tmp_path, "tests.negative.dishonest_systems:never_reached")

    assert one["exit_code"] == 3
    assert {said["verdict"] for said in one["verdicts"].values()} == {"unknown"}
    assert "its moment never came: effect 10000 was accepted" in one["problems"][0]


def test_a_run_in_which_nobody_submitted_anything_proves_nothing(tmp_path: Path) -> None:
    """All of it went well: the fault bit and healed, the lab's own warm-up was done."""
    one = run(tmp_path, "tests.negative.dishonest_systems:no_work")

    assert one["problems"] == ["too little work: no task was submitted after the warm-up; submit some"]
    assert {said["verdict"] for said in one["verdicts"].values()} == {"unknown"}
    assert one["exit_code"] == 3


@pytest.mark.parametrize("fault", ["killed", "paused"])
def test_a_fault_on_a_worker_that_does_no_work_proves_nothing(tmp_path: Path, fault: str) -> None:
    """It bit: the process was killed, or stood still; only nobody noticed."""
    decoy = run(tmp_path, f"tests.negative.dishonest_systems:worker_{fault}", "tests.negative.dishonest_systems:decoy")
    honest = run(tmp_path / "honest", f"tests.negative.dishonest_systems:worker_{fault}")

    assert decoy["problems"] == [f"fault process_{fault} struck worker-1, which recorded no event"]
    assert (decoy["exit_code"], honest["exit_code"]) == (3, 0)


def test_the_same_scenario_without_a_lie_holds(tmp_path: Path) -> None:
    one = run(tmp_path, "tests.negative.dishonest_systems:killed_once")

    assert one["exit_code"] == 0, one["verdicts"]
    assert one["duplicates"]["crash"] >= 1


def test_a_task_that_was_acknowledged_and_never_stored_is_lost(tmp_path: Path) -> None:
    one = run(tmp_path, "tests.negative.dishonest_systems:killed_once", "tests.negative.dishonest_systems:swallower")

    assert one["verdicts"]["no_lost_task"]["verdict"] == "broken"
    assert one["verdicts"]["no_lost_task"]["witnesses"] == ["task-0003", "task-0006", "task-0009", "task-0012"]
    assert one["exit_code"] == 1


def test_a_task_that_is_listed_as_done_without_an_effect_is_seen(tmp_path: Path) -> None:
    one = run(tmp_path, "tests.negative.dishonest_systems:killed_once", "tests.negative.dishonest_systems:boaster")

    assert one["verdicts"]["exactly_one_effect"]["verdict"] == "broken"
    assert one["exit_code"] == 1


def test_a_system_that_takes_nothing_but_the_warm_up_is_never_green(tmp_path: Path) -> None:
    """Every answer leaves open what happened: nothing can be lost, and nothing was done."""
    one = run(tmp_path, "tests.negative.dishonest_systems:struck_at_start", "tests.negative.dishonest_systems:failing")

    (problem,) = one["problems"]
    assert problem.startswith("too little work: 0 of 12 tasks submitted after the warm-up were acknowledged")
    assert {said["verdict"] for said in one["verdicts"].values()} == {"unknown"}
    assert one["exit_code"] == 3


@pytest.mark.parametrize("system", ["failing", "hanging", "closing"])
def test_a_load_on_an_api_that_takes_no_task_is_never_green(tmp_path: Path, system: str) -> None:
    ended = load(
        tmp_path, "--rate", "10", "--duration", "1", *EMBEDDED, "--system", f"tests.negative.dishonest_systems:{system}"
    )

    assert ended.exit_code == 3, ended.stderr
    assert ended.said["problems"][0].startswith(
        "too little work: 0 of 10 tasks submitted after the warm-up were acknowledged"
    )


def test_a_system_that_lists_tasks_of_an_earlier_run_is_not_tested(tmp_path: Path) -> None:
    one = run(tmp_path, "tests.negative.dishonest_systems:killed_once", "tests.negative.dishonest_systems:remembering")

    assert one["problems"] == [
        "the run did not start clean: before any client submitted, the system's account lists task-of-yesterday; "
        "let account() list the tasks of its own namespace only"
    ]
    assert one["account"]["submitted"] <= 1
    assert one["exit_code"] == 3


def test_a_plug_in_that_raises_makes_the_run_unknown_and_is_named(tmp_path: Path) -> None:
    one = run(tmp_path, "tests.negative.dishonest_systems:killed_once", "tests.negative.dishonest_systems:breaker")

    assert one["exit_code"] == 3
    assert one["problems"] == ["the plug-in of breaker failed in account(): KeyError('no such table')"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "broker_kiled"], "there is no scenario 'broker_kiled'; did you mean broker_killed"),
        (["run", "broker_killed", "--system", "refernce"], "there is no system 'refernce'; did you mean reference?"),
        (
            ["run", "broker_killed", "--system", "key_per_atempt"],
            "no system 'key_per_atempt'; did you mean key_per_attempt?",
        ),
        (["run", "broker_killed", "--seed", "seven"], "should be a valid integer"),
        (["run", "broker_killed", "--environment", "locall"], "'locall' is not one of"),
        (["run", "broker_killed", "--sead", "7"], "No such option"),
        (["run", "no.such.module:scenario"], "no.such.module:scenario"),
        (["list", "scenrios"], "'scenrios' is not one of"),
    ],
)
def test_wrong_usage_is_said_in_a_sentence_and_ends_with_2(arguments: list[str], sentence: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tasklab", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 2
    assert " ".join(done.stderr.replace("│", " ").split()).find(sentence) >= 0, done.stderr
    assert "Traceback" not in done.stderr

"""`tasklab load` on real services, with a fault in the middle: the reference stands it, the naive design does not."""

from pathlib import Path

import pytest

from tests.load_process import left_of, load

pytestmark = pytest.mark.services


def test_the_reference_keeps_every_promise_under_a_load_while_the_broker_is_killed(tmp_path: Path) -> None:
    ended = load(tmp_path, "--rate", "30", "--duration", "6", "--fault", "broker_killed", "--seed", "5")

    assert {name: said["reason"] for name, said in ended.said["verdicts"].items() if said["verdict"] != "held"} == {}
    assert ended.exit_code == 0, ended.stderr
    assert ended.load["acknowledged"] == 180
    (strike,) = ended.directory.read_facts().strikes
    assert (strike.fault, strike.problem) == ("service_killed", "")
    assert left_of(tmp_path) == []


def test_the_naive_design_is_caught_with_tasks_that_are_stuck(tmp_path: Path) -> None:
    struck = ("--fault", "tests.end_to_end.load_faults:broker_killed_early", "--system", "naive")

    ended = load(tmp_path, "--rate", "20", "--duration", "6", "--seed", "5", *struck)

    assert ended.exit_code == 1
    stuck = ended.said["verdicts"]["no_stuck_task"]
    assert stuck["verdict"] == "broken"
    assert all(task.startswith("load-") for task in stuck["witnesses"])

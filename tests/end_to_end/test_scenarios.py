"""The whole path on real services: every scenario against the reference and the naive design, run as a user runs them."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scenarios.lookup import find_scenario, scenario_names
from scenarios.systems.reference.terms import CAPABILITIES
from tasklab.commands.demo import SCENARIOS

pytestmark = pytest.mark.services

SEED = 7
BROKEN_BY_NAIVE = {
    "worker_killed_after_effect": "no_stuck_task",
    "broker_killed": "no_stuck_task",
    "redis_failover": "dead_letter_if_exhausted",
    "relay_killed_after_publish": "no_stuck_task",
}
"""Where the naive design is caught, and by which promise. In the other scenarios it happens to stand, or has no target."""
STANDING_NAIVE = {"ack_lost", "lease_expires"}

REDIS_AS_ANOTHER_PART = {"broker_flushed", "broker_evicts", "broker_restarted_empty", "results_flushed"}
"""They strike the keys of a Redis that is broker or result backend; that of the reference is its cache."""
APPLICABLE = [
    name
    for name in scenario_names()
    if CAPABILITIES.issuperset(find_scenario(name).needs) and name not in REDIS_AS_ANOTHER_PART
]
"""The scenarios that ask for nothing that the reference lacks."""

AT_ONCE = 8
"""Scenarios of one command: a single test that takes ten minutes would end the whole run (faulthandler_timeout)."""

Runs = Mapping[str, dict[str, Any]]


def run_all(scenarios: Sequence[str], system: str, place: Path) -> tuple[int, Runs]:
    """These scenarios against one system in one environment: the exit code, and what --json said, by scenario."""
    command = [sys.executable, "-m", "tasklab", "run", *scenarios]
    command += ["--system", system, "--seed", str(SEED), "--out", str(place), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.stdout, done.stderr
    return done.returncode, {one["scenario"]: one for one in json.loads(done.stdout)["runs"]}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[int, Runs]]:
    """The command that runs a scenario, together with some others; each command is given once."""
    place = tmp_path_factory.mktemp("reference")

    @cache
    def command(first: int) -> tuple[int, Runs]:
        return run_all(APPLICABLE[first : first + AT_ONCE], "reference", place / str(first))

    return lambda scenario: command(APPLICABLE.index(scenario) // AT_ONCE * AT_ONCE)


@pytest.fixture(scope="module")
def naive(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Runs]:
    return run_all(SCENARIOS, "naive", tmp_path_factory.mktemp("naive"))


@pytest.mark.parametrize("scenario", APPLICABLE)
def test_the_reference_keeps_every_promise(scenario: str, reference: Callable[[str], tuple[int, Runs]]) -> None:
    run = reference(scenario)[1][scenario]

    assert {name: said["reason"] for name, said in run["verdicts"].items() if said["verdict"] != "held"} == {}
    assert run["problems"] == []
    assert run["account"]["balanced"]
    assert run["exit_code"] == 0


def test_the_reference_holds_in_every_scenario_so_the_command_exits_0(
    reference: Callable[[str], tuple[int, Runs]],
) -> None:
    assert {reference(scenario)[0] for scenario in APPLICABLE} == {0}
    assert {name for scenario in APPLICABLE for name in reference(scenario)[1]} == set(APPLICABLE)


@pytest.mark.parametrize(("scenario", "promise"), BROKEN_BY_NAIVE.items())
def test_the_naive_design_is_caught_by_the_promise_it_breaks(
    scenario: str, promise: str, naive: tuple[int, Runs]
) -> None:
    run = naive[1][scenario]

    assert run["verdicts"][promise]["verdict"] == "broken"
    assert run["verdicts"][promise]["witnesses"]
    assert run["journeys"], "a witness has a journey that a person can follow"
    assert run["exit_code"] == 1


@pytest.mark.parametrize("scenario", sorted(STANDING_NAIVE))
def test_the_naive_design_is_not_accused_where_it_stands(scenario: str, naive: tuple[int, Runs]) -> None:
    run = naive[1][scenario]

    assert {name for name, said in run["verdicts"].items() if said["verdict"] == "broken"} == set()


def test_a_fault_with_nothing_to_strike_is_unknown_never_green(naive: tuple[int, Runs]) -> None:
    run = naive[1]["lock_expires"]

    assert run["exit_code"] == 3
    assert "no leader" in run["why"]


@pytest.mark.parametrize("scenario", sorted(REDIS_AS_ANOTHER_PART))
def test_a_part_that_redis_does_not_play_in_the_reference_has_nothing_to_strike(scenario: str, tmp_path: Path) -> None:
    exit_code, runs = run_all([scenario], "reference", tmp_path)

    assert exit_code == 3
    assert "not rabbitmq" in runs[scenario]["why"] or "does not use a result backend" in runs[scenario]["why"]


def test_a_broken_promise_decides_the_exit_code_of_the_command(naive: tuple[int, Runs]) -> None:
    assert naive[0] == 1


@pytest.mark.parametrize("scenario", [name for name in APPLICABLE if find_scenario(name).strikes])
def test_every_fault_bit_and_healed_in_this_order(scenario: str, reference: Callable[[str], tuple[int, Runs]]) -> None:
    facts = json.loads((Path(reference(scenario)[1][scenario]["directory"]) / "run.json").read_text())

    assert len(facts["strikes"]) == len(find_scenario(scenario).strikes) > 0
    for strike in facts["strikes"]:
        assert strike["begun_ns"] <= strike["bit_ns"] <= strike["ended_ns"] <= strike["healed_ns"]
        assert strike["evidence"]


@pytest.mark.parametrize("scenario", APPLICABLE)
def test_every_run_leaves_a_report(scenario: str, reference: Callable[[str], tuple[int, Runs]]) -> None:
    run = reference(scenario)[1][scenario]

    page = Path(run["report"]).read_text()

    assert f"tasklab run {scenario} --system reference --environment local --seed {SEED}" in page

"""Small systems that each do or say one wrong thing: the promise that breaks, and the exit code. Honest ones hold."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.negative.test_what_must_not_pass import ROOT, run

HERE = "tests.negative"


def small(place: Path, scenario: str, system: str) -> tuple[int, set[str], list[str], dict[str, list[str]]]:
    """Exit code, broken promises, problems, and the witnesses of each broken promise."""
    one = run(place, f"{HERE}.small_scenarios:{scenario}", f"{HERE}.small_systems:{system}")
    broken = {name: said["witnesses"] for name, said in one["verdicts"].items() if said["verdict"] == "broken"}
    return one["exit_code"], set(broken), one["problems"], broken


@pytest.mark.parametrize(
    ("scenario", "system"),
    [
        ("killed_before_effect", "honest"),
        ("killed_after_effect", "takes_over_at_once"),
        ("stands_still", "takes_over_silently"),
        ("killed_before_effect", "slow"),
        ("families", "honest"),
        ("killed_before_effect", "ends_by_itself"),
        ("stopped_at_work", "gives_back"),
        ("stopped_at_work", "honest"),
    ],
)
def test_an_honest_system_holds_however_it_recovers(scenario: str, system: str, tmp_path: Path) -> None:
    """By the other worker before the lab has seen the death, by a lease that is not recorded, slowly, or after ends of its own."""
    assert small(tmp_path, scenario, system)[:3] == (0, set(), [])


@pytest.mark.parametrize(
    ("scenario", "system", "promises"),
    [
        ("killed_after_effect", "buries_at_once", {"dead_letter_if_exhausted"}),
        ("killed_before_effect", "lists_dropped_as_dead", {"dead_letter_if_exhausted"}),
        ("killed_before_effect", "loses_results", {"outcome_reported"}),
        ("killed_before_effect", "loses_results_unseen", {"outcome_reported"}),
        ("killed_before_effect", "forgets_results", {"outcome_reported", "status_truthful"}),
        ("killed_before_effect", "tells_too_soon", {"status_truthful"}),
        ("families", "forgets_children", {"no_lost_task"}),
        ("families", "forgets_children_unseen", {"no_lost_task"}),
        ("killed_before_effect", "acts_beyond", {"no_phantom_task"}),
        ("killed_before_effect", "acts_before", {"no_phantom_task"}),
        ("stopped_at_work", "drops_when_stopped", {"no_lost_task"}),
        ("stopped_at_work", "gives_back_too_much", {"duplicates_explained"}),
        ("stopped_at_work", "drops_when_stopped_unseen", {"no_lost_task"}),
    ],
)
def test_a_lie_breaks_the_promise_that_it_is_about(
    scenario: str, system: str, promises: set[str], tmp_path: Path
) -> None:
    assert small(tmp_path, scenario, system)[:3] == (1, promises, [])


def test_a_task_that_is_done_when_it_is_taken_is_seen_by_the_kill_in_between(tmp_path: Path) -> None:
    code, broken, problems, witnesses = small(tmp_path, "killed_before_effect", "marks_done_at_take")

    assert code == 1
    assert {"exactly_one_effect"} <= broken <= {"exactly_one_effect", "status_truthful"}  # if a client read it in time
    (task,) = witnesses["exactly_one_effect"]
    assert problems == [f"{task}: listed as done, but none of its attempts ended well, and it had no effect"]


def test_a_dropped_task_that_is_listed_as_done_is_one_without_an_effect(tmp_path: Path) -> None:
    code, broken, problems, witnesses = small(tmp_path, "killed_before_effect", "lists_dropped_as_done")

    assert (code, broken) == (1, {"exactly_one_effect"})
    assert problems == [f"{', '.join(witnesses['exactly_one_effect'])}: listed as done, but never ran"]


@pytest.mark.parametrize(
    ("scenario", "system", "problem"),
    [
        ("killed_before_effect", "forges_effects", "holds events that it cannot know: effect"),
        ("killed_before_effect", "forges_cancels", "holds events that it cannot know: cancel.ok"),
        ("killed_before_effect", "forges_submissions", "holds events that it cannot know: submit.ok"),
        ("killed_before_effect", "forges_faults", "holds events that it cannot know: fault.begin"),
        ("killed_before_effect", "lists_dropped_as_cancelled", "listed as cancelled, but no client cancelled it"),
        ("stands_still", "takes_nothing_over", "no attempt took over the task of"),
    ],
)
def test_what_cannot_be_believed_or_never_happened_proves_nothing(
    scenario: str, system: str, problem: str, tmp_path: Path
) -> None:
    code, broken, problems, _ = small(tmp_path, scenario, system)

    assert (code, broken) == (3, set())
    assert any(problem in said for said in problems), problems


def test_an_account_that_contradicts_itself_proves_nothing(tmp_path: Path) -> None:
    one = run(tmp_path, f"{HERE}.small_scenarios:killed_before_effect", f"{HERE}.small_systems:lists_twice")

    assert one["exit_code"] == 3
    assert {said["verdict"] for said in one["verdicts"].values()} == {"unknown"}
    assert "is listed as pending and in another list, too" in one["account"]["contradiction"]


def test_a_process_that_ends_by_itself_is_named_beside_a_run_that_holds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tasklab", "run", f"{HERE}.small_scenarios:killed_before_effect"]
    command += ["--system", f"{HERE}.small_systems:ends_by_itself", "--environment", "embedded", "--out", str(tmp_path)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stdout
    assert "ended by itself" in done.stdout
    assert "unrecoverable error: the pool is gone" in done.stdout


def test_a_run_directory_without_its_facts_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "history.lab.jsonl").write_text(
        '{"t_s":1,"actor":"lab","event":"final","healed":true,"caught_up":true}\n'
    )

    done = subprocess.run(
        [sys.executable, "-m", "tasklab", "check", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 2, done.stdout
    assert "run.json" in done.stderr

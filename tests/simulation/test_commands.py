"""`tasklab simulate`, `replay` and `mutants` as a person or a script calls them."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest


def tasklab(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tasklab", *argv], capture_output=True, text=True, check=False)


def test_a_campaign_that_held_says_what_its_silence_is_worth(tmp_path: Path) -> None:
    done = tasklab("simulate", "swarm", "--seeds", "1..20", "--jobs", "2", "--out", str(tmp_path / "rows.jsonl"))

    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(row["seed"] for row in rows) == list(range(1, 21))
    assert {row["exit_code"] for row in rows} == {0}
    printed = " ".join(done.stdout.split())
    assert "every claimed promise held in every world; alarms: 0 in 20: rate below 0.15 at 95 %" in printed
    for promise in ("single_holder", "dead_letter_if_exhausted"):  # what only some of the worlds put to the test
        tested = sum(promise in row["held"] for row in rows)
        assert 3 <= tested < 20
        assert f"{promise} 0 in {tested}: rate below {3 / tested:.2g} at 95 %" in printed


def test_a_campaign_that_found_something_prints_the_line_that_repeats_it() -> None:
    system = "scenarios.systems.mutants.key_per_attempt:system"

    done = tasklab("simulate", "swarm", "--system", system, "--seeds", "1..60", "--jobs", "1")

    assert done.returncode == 1
    assert f"tasklab replay swarm~{system}~" in done.stdout
    assert "tasklab replay world~" in done.stdout


def test_rows_are_json_lines_on_request() -> None:
    done = tasklab("simulate", "crash_points", "--seeds", "1..3", "--jobs", "1", "--json")

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["series"] for row in rows] == ["crash_points"] * 3
    assert done.returncode == 0


@pytest.mark.parametrize(
    "argv",
    [
        ("simulate", "no_such_scenario"),
        ("simulate", "swarm", "--seeds", "1"),
        ("simulate", "swarm", "--shard", "2"),
        ("simulate", "swarm", "--system", "no_such_system"),
        ("replay", "nothing"),
        ("mutants", "no_such_mutant"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(argv: tuple[str, ...]) -> None:
    done = tasklab(*argv)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_system_without_a_simulation_is_unknown() -> None:
    done = tasklab("simulate", "swarm", "--system", "naive", "--seeds", "1..2")

    assert done.returncode == 3
    assert "provides no simulation" in done.stderr


def test_mutants_are_reported_as_one_document() -> None:
    done = tasklab("mutants", "key_per_attempt", "--json")

    (found,) = json.loads(done.stdout)["mutants"]
    assert done.returncode == 0
    assert found.keys() == {"name", "found", "by", "expected_by", "seeds", "seconds", "steps", "replay"}
    assert (found["found"], found["by"], found["expected_by"]) == (True, "exactly_one_effect", ["exactly_one_effect"])
    assert found["replay"].startswith("tasklab replay world~")


def test_shards_together_are_the_whole_and_merge_into_one_campaign(tmp_path: Path) -> None:
    argv = ("simulate", "crash_points", "swarm", "--seeds", "1..12", "--jobs", "1")
    shards = [str(tmp_path / f"shard-{number}.jsonl") for number in (1, 2, 3)]
    whole = str(tmp_path / "whole.jsonl")

    tasklab(*argv, "--out", whole)
    for number, shard in enumerate(shards, start=1):
        tasklab(*argv, "--shard", f"{number}/3", "--out", shard)
    merged = tasklab("simulate", *(word for shard in [*shards, shards[0]] for word in ("--merge", shard)))

    assert sorted(line for shard in shards for line in Path(shard).read_text().splitlines()) == sorted(
        Path(whole).read_text().splitlines()
    )
    assert merged.returncode == 0
    assert "24 worlds" in merged.stdout
    assert "visited, one crash each" in merged.stdout
    assert "0 in 24: rate below 0.12 at 95 %" in merged.stdout


def test_what_is_no_campaign_is_not_merged(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n')

    done = tasklab("simulate", "--merge", str(tmp_path / "other.jsonl"))

    assert done.returncode == 2
    assert "cannot be merged" in done.stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_campaign_says_what_it_found_by_then_and_not_that_all_held(jobs: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tasklab", "simulate", "swarm", "--seeds", "1..100000", "--jobs", jobs, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()  # the first world is over

    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)

    assert "interrupted" in err
    assert "Traceback" not in err
    assert process.returncode == 130


def test_a_scenario_of_the_catalogue_runs_in_the_simulated_world_as_on_real_services(tmp_path: Path) -> None:
    done = tasklab("run", "ack_lost", "--environment", "simulated", "--seed", "3", "--out", str(tmp_path), "--json")

    (run,) = json.loads(done.stdout)["runs"]
    assert done.returncode == 0, done.stderr
    assert run["environment"] == "simulated"
    assert tasklab("check", run["directory"]).returncode == 0
    assert tasklab("replay", run["directory"], "--out", str(tmp_path / "again")).returncode == 0

"""The lab in pytest, as a user's own tests see it."""

import json
import subprocess
import sys
from pathlib import Path

from scenarios.lookup import scenario_names

BREAKS = "scenarios.systems.mutants.key_per_attempt:system"


def pytest_in(directory: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", *argv], cwd=directory, capture_output=True, text=True, check=False
    )


def write_test(directory: Path, body: str) -> None:
    (directory / "test_mine.py").write_text(f"import pytest\n\n\ndef test_mine(tasklab_run):\n    {body}\n")


def test_what_holds_passes_and_leaves_its_run(tmp_path: Path) -> None:
    write_test(tmp_path, 'assert tasklab_run("ack_lost", environment="simulated", seed=3).account["done"] > 0')

    done = pytest_in(tmp_path, "--tasklab-out", "kept")

    (verdicts,) = (tmp_path / "kept").glob("*/*/verdicts.json")
    assert done.returncode == 0, done.stdout
    assert json.loads(verdicts.read_text())["exit_code"] == 0


def test_a_broken_promise_fails_with_the_line_that_repeats_it(tmp_path: Path) -> None:
    write_test(tmp_path, f'tasklab_run("worker_killed_after_effect", environment="simulated", system="{BREAKS}")')

    done = pytest_in(tmp_path)

    assert done.returncode == 1
    assert "exactly_one_effect is broken" in done.stdout
    assert (
        f"repeat: tasklab run worker_killed_after_effect --system {BREAKS} --environment simulated --seed 1"
        in done.stdout
    )
    assert "Traceback" not in done.stdout


def test_what_was_found_can_be_looked_at_instead(tmp_path: Path) -> None:
    call = f'tasklab_run("worker_killed_after_effect", environment="simulated", system="{BREAKS}", check=False)'
    write_test(tmp_path, f'assert {call}.verdicts["exactly_one_effect"]["verdict"] == "broken"')

    assert pytest_in(tmp_path).returncode == 0


def test_what_cannot_run_is_no_pass(tmp_path: Path) -> None:
    write_test(tmp_path, 'tasklab_run("no_such_scenario", environment="simulated")')

    done = pytest_in(tmp_path)

    assert done.returncode == 1
    assert "exit code 2" in done.stdout
    assert "there is no scenario 'no_such_scenario'" in done.stdout


def test_what_does_not_apply_is_skipped_with_its_reason(tmp_path: Path) -> None:
    write_test(tmp_path, 'tasklab_run("ack_lost", environment="simulated", system="naive")')

    done = pytest_in(tmp_path)

    assert "1 skipped" in done.stdout
    assert "not applicable" in done.stdout


def test_a_verdict_is_not_run_again_until_it_holds(tmp_path: Path) -> None:
    write_test(tmp_path, 'tasklab_run("ack_lost", environment="simulated")')
    test = tmp_path / "test_mine.py"
    test.write_text(test.read_text().replace("def test", "@pytest.mark.flaky(reruns=3)\ndef test"))

    done = pytest_in(tmp_path, "-W", "ignore")

    assert done.returncode == 4
    assert "a rerun would hide a verdict" in done.stderr


def test_the_kit_runs_every_scenario_against_a_system(tmp_path: Path) -> None:
    kit = ["--pyargs", "tasklab.suite", "--environment", "simulated", "--seeds=1..1"]

    collected = pytest_in(tmp_path, *kit, "--collect-only", "-q")
    held = pytest_in(tmp_path, *kit, "-k", "ack_lost or poison_tasks or priorities_mixed")
    broken = pytest_in(tmp_path, *kit, "--system", BREAKS, "-k", "worker_killed_after_effect")

    assert (held.returncode, broken.returncode) == (0, 1), held.stdout
    assert [name for name in scenario_names() if f"[{name}" not in collected.stdout] == []
    assert "2 passed, 1 skipped" in held.stdout
    assert "exactly_one_effect is broken" in broken.stdout


def test_an_app_is_named_by_the_options_of_the_command_line(tmp_path: Path) -> None:
    write_test(tmp_path, 'tasklab_run("ack_lost", environment="simulated", celery="shop:app", task="shop.charge")')

    done = pytest_in(tmp_path)

    assert done.returncode == 1
    assert "tasklab run ack_lost --celery=shop:app --task=shop.charge --environment simulated" in done.stdout
    assert "an app runs on real services" in done.stdout

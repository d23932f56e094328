"""The lab in pytest, as a user's own tests see it."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import psutil
import pytest

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
    assert re.search(r"  exactly_one_effect +broken +\S", done.stdout), done.stdout
    assert re.search("  no_lost_task +held", done.stdout)
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


@pytest.mark.parametrize(
    ("stated", "ends"),
    [("0", "exit 3"), ("0", "exit 1"), ("0", "kill -9 $$"), ("null", "exit 0"), ("1", "exit 0"), ("3", "exit 0")],
)
def test_what_ends_otherwise_than_it_printed_is_no_pass(tmp_path: Path, stated: str, ends: str) -> None:
    run = {"scenario": "ack_lost", "system": "reference", "environment": "simulated", "seed": 1, "documented": {}}
    run |= {
        "directory": "d",
        "report": "r",
        "why": "",
        "repeat": "tasklab run ack_lost",
        "exit_code": json.loads(stated),
    }
    program = tmp_path / "lab"
    program.write_text(f"#!/bin/sh\necho '{json.dumps({'runs': [run]})}'\n{ends}\n")
    program.chmod(0o755)
    write_test(tmp_path, 'tasklab_run("ack_lost")')

    done = pytest_in(tmp_path, f"--tasklab-executable={program}")

    assert done.returncode == 1, done.stdout


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
    assert re.search("exactly_one_effect +broken", broken.stdout)


def test_an_app_is_named_by_the_options_of_the_command_line(tmp_path: Path) -> None:
    write_test(tmp_path, 'tasklab_run("ack_lost", environment="simulated", celery="shop:app", task="shop.charge")')

    done = pytest_in(tmp_path)

    assert done.returncode == 1
    assert "tasklab run ack_lost --environment=simulated --celery=shop:app --task=shop.charge --seed=1" in done.stdout
    assert "an app runs on real services" in done.stdout


def test_a_marker_states_arguments_for_all_tests_of_a_module(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import pytest\n\n"
        "pytestmark = pytest.mark.tasklab(environment='simulated', seed=3)\n\n\n"
        "def test_marked(tasklab_run):\n"
        "    assert tasklab_run('ack_lost').repeat.endswith('--environment simulated --seed 3')\n\n\n"
        "@pytest.mark.tasklab(seed=4)\n"
        "def test_nearer(tasklab_run):\n"
        "    assert tasklab_run('ack_lost', check=False).seed == 4\n"
    )

    done = pytest_in(tmp_path, "--strict-markers")
    without = pytest_in(tmp_path, "-m", "not tasklab")

    assert "2 passed" in done.stdout, done.stdout
    assert "2 deselected" in without.stdout


def test_each_seed_of_the_option_is_a_test(tmp_path: Path) -> None:
    write_test(tmp_path, 'assert tasklab_run("ack_lost", environment="simulated").seed in (3, 4)')

    done = pytest_in(tmp_path, "--tasklab-seeds=3..4", "-v")

    assert "test_mine[3] PASSED" in done.stdout, done.stdout
    assert "test_mine[4] PASSED" in done.stdout


def test_what_was_run_is_in_junits_xml(tmp_path: Path) -> None:
    write_test(tmp_path, 'tasklab_run("ack_lost", environment="simulated")')

    done = pytest_in(tmp_path, "--junit-xml=junit.xml", "-W", "error")

    written = {one.get("name"): one.get("value") for one in ElementTree.parse(tmp_path / "junit.xml").iter("property")}
    assert done.returncode == 0
    assert written["tasklab_repeat"] == "tasklab run ack_lost --system reference --environment simulated --seed 1"
    assert {written[f"tasklab_{name}"] for name in ("ruling", "no_lost_task")} == {"held"}
    assert (tmp_path / str(written["tasklab_report"])).is_file()


def test_what_interrupts_pytest_ends_the_lab(tmp_path: Path) -> None:
    write_test(tmp_path, 'tasklab_run("long_work", environment="embedded")')
    argv = [sys.executable, "-m", "pytest", "-s", "--tasklab-out", "kept"]

    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout
        for line in running.stdout:
            if "storm" in line or "warm" in line:
                break
        lab = [child for child in psutil.Process(running.pid).children() if "tasklab" in child.cmdline()]
        running.send_signal(signal.SIGINT)
        said = running.stdout.read()

    assert running.returncode == 2, said
    assert lab
    assert not any(child.is_running() for child in lab)

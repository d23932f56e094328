"""A clone: its packages stand at the top, and still no module of the user takes the place of one of them, or of Python's."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import RUN, run, with_traps

BIN = Path(sys.executable).parent


def test_the_guides_example_runs_beside_packages_of_the_labs_names(project: Path) -> None:
    done = run("env", "PYTHONPATH=.", BIN / "tasklab", *RUN, directory=project)

    assert "verdict: 1 of 4 claimed promises broken: no_lost_task" in done.stdout, done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize("program", [[BIN / "tasklab"], [sys.executable, "-m", "tasklab"]])
def test_a_users_modules_hide_none_of_pythons(program: list[str | Path], project: Path) -> None:
    trapped = with_traps(project)

    done = run(*program, "simulate", "swarm", "--seeds=1..4", "--jobs=2", directory=trapped)

    assert done.returncode == 0, done.stderr


def test_a_users_tests_run_the_lab_beside_packages_of_its_names(project: Path) -> None:
    (project / "test_mine.py").write_text(
        "import reports, scenarios\n\n\n"
        "def test_mine(tasklab_run):\n"
        "    assert scenarios.OWNER == 'user'\n"
        "    tasklab_run('ack_lost', environment='simulated', seed=3)\n"
    )

    done = run(sys.executable, "-m", "pytest", "-p", "no:locust", directory=project)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_old_address_of_the_suite_still_leads_to_it(tmp_path: Path) -> None:
    suite = ["--pyargs", "scenarios.suite", "--environment=simulated", "-k", "ack_lost"]

    done = run(sys.executable, "-m", "pytest", "-p", "no:locust", *suite, directory=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "scenarios.suite is an old address; use: pytest --pyargs tasklab.suite" in done.stdout + done.stderr


def test_the_old_address_of_the_probe_still_leads_to_it_with_a_warning() -> None:
    program = (
        "from tasklab import tasklab_probe; print(tasklab_probe.run_task.__module__, tasklab_probe.TaskError.__name__)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    warned = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)

    assert done.stdout == "scenarios.contract.tasklab_probe TaskError\n"
    assert "DeprecationWarning: tasklab.tasklab_probe is an old address" in warned.stderr

"""pytest-tasklab: the plug-in of pytest in an environment that has pytest, and no tasklab."""

import re
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, built_in, install, packages_of, run

PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
"""And the distributions that it needs."""
MUTANT = "scenarios.systems.mutants.key_per_attempt:system"


@pytest.fixture(scope="session")
def plugin_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_in(ROOT / ".ci" / "pytest-tasklab", tmp_path_factory.mktemp("plugin_wheel"))


@pytest.fixture(scope="session")
def users_python(plugin_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a user's environment: pytest and pytest-tasklab."""
    place = tmp_path_factory.mktemp("users")
    venv.create(place, with_pip=False, symlinks=True)
    for name in PYTEST:
        found = distribution(name)
        for entry in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            (packages_of(place / "bin") / entry).symlink_to(Path(str(found.locate_file(entry))))
    install(plugin_wheel, place)
    return place / "bin" / "python"


def mine(
    python: Path, directory: Path, body: str, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    (directory / "test_mine.py").write_text(f"def test_mine(tasklab_run):\n    {body}\n")
    named = [
        f"{name}={value}" for name, value in {"PATH": "/usr/bin:/bin", "HOME": str(directory), **variables}.items()
    ]
    return run("env", "--ignore-environment", *named, python, "-m", "pytest", *arguments, directory=directory)


def test_the_program_is_that_of_the_option_the_variable_path_or_pipx_in_this_order(
    users_python: Path, tmp_path: Path
) -> None:
    for code, place in enumerate(("option", "variable", "path", "pipx"), start=11):
        (tmp_path / place).mkdir()
        (tmp_path / place / "tasklab").write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / place / "tasklab").chmod(0o755)
    call, option = "tasklab_run('ack_lost')", f"--tasklab-executable={tmp_path}/option/tasklab"
    pipx = {"PIPX_BIN_DIR": f"{tmp_path}/pipx"}
    path = {**pipx, "PATH": f"{tmp_path}/path:/usr/bin:/bin"}
    variable = {**path, "TASKLAB": f"{tmp_path}/variable/tasklab"}

    done = [mine(users_python, tmp_path, call, option, **variable)]
    done += [mine(users_python, tmp_path, call, **found) for found in (variable, path, pipx)]

    codes = [re.search(r"ended with exit code (\d+)", one.stdout) for one in done]
    assert [code and code[1] for code in codes] == ["11", "12", "13", "14"], done


def test_a_broken_promise_fails_with_the_table_and_a_line_that_repeats_it_as_it_stands(
    users_python: Path, bin_directory: Path, tmp_path: Path
) -> None:
    lab = bin_directory / "tasklab"
    body = f"tasklab_run('worker_killed_after_effect', environment='simulated', system='{MUTANT}')"

    done = mine(users_python, tmp_path, body, TASKLAB=str(lab))

    line = f"repeat: {lab} run worker_killed_after_effect --system {MUTANT}"
    assert re.search("exactly_one_effect +broken", done.stdout), done.stdout + done.stderr
    assert line in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("stated", ["", "/nowhere/tasklab"])
def test_without_the_program_the_test_fails_with_what_to_install(
    users_python: Path, tmp_path: Path, stated: str
) -> None:
    done = mine(users_python, tmp_path, "tasklab_run('ack_lost')", TASKLAB=stated)

    said = "/nowhere/tasklab: there is no such program" if stated else "(pipx install PATH-OR-URL-OF-TASKLAB)"
    assert said in done.stdout, done.stdout
    assert done.returncode == 1


def test_an_environment_that_has_both_plug_ins_loads_one(
    bin_directory: Path, plugin_wheel: Path, tmp_path: Path
) -> None:
    install(plugin_wheel, bin_directory.parent)
    try:
        body = "tasklab_run('ack_lost', environment='simulated')"
        # What pytest compiles is no file of the distribution: it would outlive it in the environment that other tests look at.
        done = mine(bin_directory / "python", tmp_path, body, "-p", "no:locust", PYTHONDONTWRITEBYTECODE="1")
    finally:
        subprocess.run(
            [sys.executable, "-m", "pip", "--python", bin_directory / "python", "uninstall", "-qy", "pytest-tasklab"],
            check=True,
        )

    assert "1 passed" in done.stdout, done.stdout + done.stderr

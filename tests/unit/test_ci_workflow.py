"""The workflow that projects copy: it can be read, and each command in it has the options that it is given."""

import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from tasklab.command_line import app

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "celery_shop"
WORKFLOW = yaml.safe_load((EXAMPLE / ".github" / "workflows" / "tasklab.yml").read_text())
STEPS = WORKFLOW["jobs"]["promises"]["steps"]
LINES = [shlex.split(line.partition(">>")[0]) for step in STEPS for line in step.get("run", "").splitlines()]


def test_each_step_runs_something_and_the_lab_is_among_it() -> None:
    assert all(("run" in step) != ("uses" in step) for step in STEPS)
    assert {line[0] for line in LINES} == {"pipx", "pip", "pytest", "tasklab"}


@pytest.mark.parametrize("line", [line for line in LINES if line[0] == "tasklab"], ids=" ".join)
def test_each_command_of_the_lab_is_one_with_these_options(line: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    words = line[1:]

    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]

    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_each_option_of_pytest_is_one_of_the_plug_in() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], cwd=EXAMPLE, capture_output=True, text=True, check=True
    ).stdout
    given = {word for line in LINES if line[0] == "pytest" for word in line if word.startswith("--")}

    assert given == {"--tasklab-out", "--junit-xml"}
    assert {option for option in given if f"{option}=" not in told and f"{option} " not in told} == set()


@pytest.mark.parametrize("line", [line for line in LINES if line[0] == "pip"], ids=" ".join)
def test_each_file_that_is_installed_from_is_in_the_example(line: list[str]) -> None:
    files = [after for before, after in pairwise(line) if before == "-r"]

    assert files
    assert all((EXAMPLE / file).is_file() for file in files)

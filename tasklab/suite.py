"""Every scenario of the catalogue as a test, for a system of your own.

pytest --pyargs tasklab.suite --system acme.lab:system [--environment E] [--seeds A..B] [--out DIR]
"""

import json
import sys
from collections.abc import Callable

import pytest

from tasklab.pytest_plugin import run_lab


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every scenario."""
    _, printed = run_lab([sys.executable, "-P", "-m", "tasklab"], ["list", "scenarios", "--json"])
    metafunc.parametrize("scenario", [entry["name"] for entry in json.loads(printed)])


def test_every_claimed_promise_holds(scenario: str, tasklab_run: Callable[..., object]) -> None:
    """Runs the scenario; fails with the broken promises, the line that repeats the run, and the report."""
    tasklab_run(scenario)

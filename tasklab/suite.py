"""Every scenario of the catalogue as a test, for a system of your own.

pytest --pyargs tasklab.suite --system acme.lab:system [--environment E] [--seeds A..B] [--out DIR]
"""

import json
import re
from collections.abc import Callable

import pytest

from tasklab.pytest_plugin import run_lab


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every scenario, once for each seed."""
    names = [entry["name"] for entry in json.loads(run_lab(["list", "scenarios", "--json"])[1])]
    seeds = _seeds(metafunc.config.getoption("tasklab_seeds"))
    metafunc.parametrize(("scenario", "seed"), [(name, seed) for seed in seeds for name in names])


def test_every_claimed_promise_holds(scenario: str, seed: int, tasklab_run: Callable[..., object]) -> None:
    """Runs the scenario; fails with the broken promises, the line that repeats the run, and the report."""
    tasklab_run(scenario, seed=seed)


def _seeds(text: str) -> range:
    match = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if match is None or int(match[1]) > int(match[2]):
        raise pytest.UsageError(f"--seeds is A..B, with B not less than A, such as 1..10; not {text!r}")
    return range(int(match[1]), int(match[2]) + 1)

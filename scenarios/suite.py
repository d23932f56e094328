"""The kit for the author of a system: every scenario of the catalogue as a test.

pytest --pyargs scenarios.suite --system acme.lab:system [--environment E] [--seeds A..B] [--out DIR]
"""

from collections.abc import Callable

import pytest

from scenarios.lookup import scenario_names
from scenarios.simulated.search.campaign import seeds_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every scenario, once for each seed."""
    seeds = seeds_of(metafunc.config.getoption("tasklab_seeds"), "1/1", until_s=None)
    metafunc.parametrize(("scenario", "seed"), [(name, seed) for seed in seeds for name in scenario_names()])


def test_every_claimed_promise_holds(scenario: str, seed: int, tasklab_run: Callable[..., object]) -> None:
    """Runs the scenario, and fails with what broke, the line that repeats it, and the report."""
    tasklab_run(scenario, seed=seed)

"""What all tests share: a test that needs a real service says so, and where the service is missing it is skipped, or fails in CI."""

import os
import signal
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import settings

from chaos.binaries import inventory
from chaos.environments.local import LocalEnvironment
from tests.examples import FACTOR
from tests.leftovers import find_leftovers

# The same examples in every run, and no example that fails because the machine was busy.
settings.register_profile("tests", max_examples=max(1, round(100 * min(FACTOR, 1))), derandomize=True, deadline=None)
settings.load_profile("tests")

# A run that a script starts in the background, or by nohup, ignores these, and so would every lab that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def local() -> Iterator[LocalEnvironment]:
    """Real services for all tests that want them, started when the first one does."""
    environment = LocalEnvironment()
    with environment:
        directory = environment.directory
        yield environment
    assert find_leftovers(directory) == []


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Looked at when the test is about to run, not when it is collected: collecting costs nothing and starts nothing."""
    if item.get_closest_marker("services") is None:
        return
    missing = _missing_programs()
    if not missing:
        return
    why = f"missing: {', '.join(missing)}; `make services` brings them"
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


@cache
def _missing_programs() -> tuple[str, ...]:
    return tuple(found.program.name for found in inventory() if found.path is None)

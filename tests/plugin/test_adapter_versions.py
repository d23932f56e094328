"""An adapter that fails on a version of the library that it was never tried with says so, and with which it was tried."""

import sys
from importlib.metadata import version
from typing import Any

import pytest

from scenarios.adapters.adapted import SHIMS


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SHIMS))
    monkeypatch.setattr(sys, "addaudithook", lambda _: None)  # the guard is for processes of apps
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    import tasklab_adapter

    return tasklab_adapter


def lacks(_: object) -> None:
    raise KeyError("time_limit")


def test_a_failure_in_a_version_that_was_never_tried_names_those_that_were(adapter: Any) -> None:
    choice = adapter.Choice("shop:app", tried=["1.0", "1.1"])

    with pytest.raises(adapter.UnusableApp) as raised:
        adapter.read_by_adapter("pytest", choice, lacks)

    untried = f"pytest {version('pytest')} was never tried with this adapter, which was tried with 1.0, 1.1"
    assert str(raised.value) == f"{untried}, and it cannot be read: KeyError: 'time_limit'"


def test_a_failure_in_a_version_that_was_tried_is_the_adapter_s_own(adapter: Any) -> None:
    choice = adapter.Choice("shop:app", tried=[version("pytest")])

    with pytest.raises(KeyError):
        adapter.read_by_adapter("pytest", choice, lacks)

"""Which systems run in a client process, and which stay in the lab's."""

import sys
from pathlib import Path

import pytest

from scenarios.errors import UnknownName, WrongUsage
from scenarios.lookup import find_system
from scenarios.plugin.opening import open_scenario, open_system
from scenarios.plugin.remote_system import RemoteSystem

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["reference", "naive", "scenarios.systems.naive.plugin:system", "key_per_attempt"])
def test_the_lab_s_own_systems_stay_in_its_process(name: str) -> None:
    assert open_system(name) is find_system(name)


@pytest.mark.parametrize("name", ["acme.lab:system", "./plain/client.py"])
def test_any_other_system_runs_in_a_client_process(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "docs" / "examples")
    before = set(sys.modules)

    system = open_system(name)

    assert isinstance(system, RemoteSystem)
    assert "acme" not in set(sys.modules) - before
    system.abandon()


@pytest.mark.parametrize("python", [Path("no/such/python"), Path("no-such-python")])
def test_an_interpreter_that_does_not_exist_is_named(python: Path) -> None:
    with pytest.raises(WrongUsage, match=f"{python} is not a program that can be started"):
        open_system("acme.lab:system", python=python)


def test_an_interpreter_may_be_found_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    monkeypatch.chdir(ROOT / "docs" / "examples")

    system = open_system("acme.lab:system", python=Path(Path(sys.executable).name))

    assert system.name == "acme"
    assert isinstance(system, RemoteSystem)
    system.abandon()


def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(WrongUsage, match=r"\./no/client is not a program that can be started"):
        open_system("./no/client")


def test_a_name_that_is_nothing_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match="there is no system 'refernce'; did you mean reference"):
        open_system("refernce")
    with pytest.raises(UnknownName, match="there is no scenario 'broker_kiled'; did you mean broker_killed"):
        open_scenario("broker_kiled")

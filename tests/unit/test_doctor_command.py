"""`tasklab doctor`: what is missing is named, with the one command that brings it."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from chaos.binaries import PROGRAMS, Found
from tasklab.commands import doctor


def examine(monkeypatch: pytest.MonkeyPatch, *, missing: set[str], arguments: tuple[str, ...] = ()) -> Result:
    inventory = [
        Found(program, None if program.name in missing else Path("/opt") / program.name, "1.0") for program in PROGRAMS
    ]
    monkeypatch.setattr("chaos.binaries.inventory", lambda: inventory)
    monkeypatch.setattr(doctor, "_locust", lambda: ("locust", "tasklab load", "Python package", "2.0"))
    monkeypatch.setattr(doctor, "_browser", lambda: ("chromium", "the tests of the report", "/usr/bin/chromium", ""))
    app = typer.Typer()
    app.command()(doctor.doctor)
    return CliRunner().invoke(app, list(arguments))


def test_a_machine_that_has_everything_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    result = examine(monkeypatch, missing=set())

    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "nothing is missing"
    assert "/opt/redis-server" in result.stdout


def test_what_is_missing_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    result = examine(monkeypatch, missing={"epmd", "redis-server"})

    assert result.exit_code == 3
    assert "missing: redis-server, epmd; `make services` brings it" in result.stdout


def test_the_same_as_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [examine(monkeypatch, missing=missing, arguments=("--json",)) for missing in (set(), {"erl"})]

    whole, lacking = (json.loads(result.stdout) for result in found)
    assert [result.exit_code for result in found] == [0, 3]
    assert (whole["missing"], whole["mend"]) == ([], None)
    assert (lacking["missing"], lacking["mend"]) == (["erl"], "make services")
    assert {"name": "erl", "used_for": "rabbitmq", "path": "", "version": "1.0"} in lacking["programs"]

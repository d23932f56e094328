"""`tasklab doctor`: what is missing is named, with the commands that bring it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from chaos.binaries import PROGRAMS, ProgramStatus
from chaos.errors import ChaosError
from chaos.installation import Machine
from chaos.services import docker_engine
from tasklab.commands import doctor
from tasklab.presentation.programs import print_programs


class Daemon:
    """A Docker daemon with what a killed lab has left."""

    def remove_orphans(self) -> list[str]:
        return ["tasklab-x-mysql"]

    def version(self) -> str:
        return "28.0"

    def close(self) -> None:
        pass


def no_daemon() -> Daemon:
    raise ChaosError("none answers")


def examine(
    monkeypatch: pytest.MonkeyPatch,
    *,
    missing: set[str],
    arguments: tuple[str, ...] = (),
    connect: Callable[[], Daemon] = no_daemon,
) -> Result:
    inventory = [
        ProgramStatus(program, None if program.name in missing else Path("/opt") / program.name, "1.0")
        for program in PROGRAMS
    ]
    machine = Machine({"apt-get": "/usr/bin/apt-get", "sudo": "/usr/bin/sudo"}, is_root=False, bin_directory=Path("/b"))
    monkeypatch.setattr("chaos.binaries.inventory", lambda: inventory)
    monkeypatch.setattr("chaos.installation.this_machine", lambda: machine)
    monkeypatch.setattr(docker_engine, "connect", connect)
    app = typer.Typer()
    app.command()(doctor.doctor)
    return CliRunner().invoke(app, list(arguments))


def test_a_machine_that_has_everything_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    result = examine(monkeypatch, missing=set())

    assert result.exit_code == 0
    assert "nothing is missing" in result.stdout.splitlines()
    assert "/opt/redis-server" in result.stdout


def test_a_long_path_comes_out_in_one_piece_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    path = "/opt/" + "x" * 100

    print_programs([{"name": "redis-server", "used_for": "redis", "path": path, "version": "7.0"}])

    assert f"redis-server  redis     7.0      {path}" in capsys.readouterr().out.splitlines()


def test_what_is_missing_is_named_with_the_commands_that_bring_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = examine(monkeypatch, missing={"epmd", "redis-server"})

    assert result.exit_code == 3
    assert "missing: redis-server, epmd" in result.stdout
    assert "`tasklab services install` runs:" in result.stdout
    assert "--no-install-recommends redis-server rabbitmq-server\n" in result.stdout


def test_the_same_as_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [examine(monkeypatch, missing=missing, arguments=("--json",)) for missing in (set(), {"erl"})]

    whole, lacking = (json.loads(result.stdout) for result in found)
    assert [result.exit_code for result in found] == [0, 3]
    assert (whole["missing"], whole["commands"]) == ([], [])
    assert (lacking["missing"], lacking["obstacles"]) == (["erl"], [])
    assert lacking["commands"][0] == "sudo apt-get update -q"
    assert {"name": "erl", "used_for": "rabbitmq", "path": "", "version": "1.0"} in lacking["programs"]


def test_docker_is_optional_and_its_absence_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    result = examine(monkeypatch, missing=set())

    assert result.exit_code == 0
    assert "missing, optional" in result.stdout
    assert result.stdout.splitlines()[-1] == "without `--environment containers`: none answers"


def test_containers_that_a_killed_lab_has_left_are_removed_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    result = examine(monkeypatch, missing=set(), connect=Daemon)
    document = json.loads(examine(monkeypatch, missing=set(), connect=Daemon, arguments=("--json",)).stdout)

    assert result.stdout.splitlines()[-1] == "removed containers that killed labs had left: tasklab-x-mysql"
    assert document["removed_containers"] == ["tasklab-x-mysql"]
    docker = {"name": "docker", "used_for": "--environment containers", "path": "its daemon answers", "version": "28.0"}
    assert docker in document["programs"]

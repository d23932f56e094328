"""`tasklab services install`: it prints what it would run, asks, runs it, and looks again."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from chaos.binaries import Program, ProgramStatus
from chaos.installation import Machine
from tasklab.commands.services import services


def install(
    monkeypatch: pytest.MonkeyPatch, directory: Path, *arguments: str, apt: str = "", missing: str = "redis-server"
) -> tuple[Result, list[str]]:
    """The result, and how apt-get was called: a script that writes its arguments down, then goes on with the lines `apt`.

    Missing is that one program, until a file `installed` is there.
    """
    script = directory / "apt-get"
    script.write_text(f"#!/bin/sh\ncd {directory}\necho $* >> calls\n{apt}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    here = directory / "installed"

    def inventory(programs: tuple[Program, ...]) -> list[ProgramStatus]:
        return [
            ProgramStatus(one, None if one.name == missing and not here.exists() else Path("/opt"), "")
            for one in programs
        ]

    monkeypatch.setattr("chaos.binaries.inventory", inventory)
    machine = Machine({"apt-get": str(script)}, is_root=True, bin_directory=directory)
    monkeypatch.setattr("chaos.installation.this_machine", lambda: machine)
    result = CliRunner().invoke(services, ["install", *arguments])
    calls = directory / "calls"
    return result, calls.read_text().splitlines() if calls.exists() else []


def test_a_dry_run_prints_the_commands_and_runs_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, calls = install(monkeypatch, tmp_path, "--dry-run")

    assert (result.exit_code, calls) == (0, [])
    assert "missing: redis-server\n`tasklab services install` runs:\n  apt-get update -q\n" in result.stdout


def test_without_a_terminal_it_runs_nothing_that_was_not_agreed_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, calls = install(monkeypatch, tmp_path)

    assert (result.exit_code, calls) == (2, [])
    assert "without a terminal add --yes" in result.stderr


def test_what_it_installs_is_looked_for_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, calls = install(monkeypatch, tmp_path, "--yes", apt="touch installed")

    assert calls == ["update -q", "install -q -y --no-install-recommends redis-server"]
    assert result.exit_code == 0
    assert result.stdout.endswith("nothing is missing any more\n")


def test_a_package_without_the_program_is_no_success(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, _ = install(monkeypatch, tmp_path, "--yes")

    assert result.exit_code == 3
    assert result.stdout.endswith("still missing: redis-server\n")


def test_a_command_that_fails_ends_the_others_with_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, calls = install(monkeypatch, tmp_path, "--yes", apt="echo no route to host >&2; exit 100")

    assert (result.exit_code, calls) == (3, ["update -q"])
    assert "tasklab: apt-get update -q: ended with exit code 100" in result.stderr


def test_where_no_command_brings_it_the_reason_is_the_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, calls = install(monkeypatch, tmp_path, "--yes", missing="toxiproxy-server")

    assert (result.exit_code, calls) == (3, [])
    assert "install Go (https://go.dev/dl) and run `tasklab services install` again" in result.stdout


def test_only_the_named_services_are_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other, _ = install(monkeypatch, tmp_path, "mysql", "--dry-run")
    named, _ = install(monkeypatch, tmp_path, "mysql", "redis", "--dry-run")

    assert "nothing is missing" in other.stdout
    assert "--no-install-recommends redis-server\n" in named.stdout


def test_a_service_that_the_lab_does_not_have_is_wrong_usage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, calls = install(monkeypatch, tmp_path, "kafka", "--yes")

    assert (result.exit_code, calls) == (2, [])
    assert "there is no service 'kafka'; the services are mysql, redis, rabbitmq, postgresql" in result.stderr

"""How commands end: 0 and 1 only by a verdict, whatever becomes of their output or of a plug-in."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import typer

from scenarios.judging.judge import Judgement
from scenarios.judging.verdict import Ruling, exit_code_of
from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN, UnexpectedError, explained
from tasklab.running.judged_run import JudgedRun, RunName, exit_code_of_runs
from tests.unit.test_judges_command import a_draft, a_run

BREAKS = "scenarios.systems.mutants.key_per_attempt:system"


def into_a_closed_pipe(*arguments: str | Path, cwd: Path) -> int:
    """The exit code of a command whose standard output has lost its reader before the first byte."""
    reader, writer = os.pipe()
    os.close(reader)
    argv = [sys.executable, "-m", "tasklab", *map(str, arguments)]
    try:
        done = subprocess.run(argv, cwd=cwd, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writer)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    return done.returncode


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize(("claims", "code"), [("no_lost_task", 0), ("cancel_honoured", 3)])
def test_check_ends_with_its_verdict_though_nobody_reads_it(
    options: tuple[str, ...], claims: str, code: int, tmp_path: Path
) -> None:
    run = a_run(tmp_path / "run", a_draft())

    assert into_a_closed_pipe("check", run, "--claims", claims, *options, cwd=tmp_path) == code


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--version",), 0),
        (("list", "scenarios"), 0),
        (("run", "ack_lost", "--environment=simulated", "--seed=3"), 0),
        (
            (
                "run",
                "worker_killed_after_effect",
                "--environment=simulated",
                "--seed=1",
                f"--system={BREAKS}",
                "--json",
            ),
            1,
        ),
        (("simulate", "swarm", "--seeds=1..100000", "--jobs=1", "--json"), 130),
    ],
)
def test_so_does_every_command_except_a_campaign_which_is_interrupted(
    arguments: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    assert into_a_closed_pipe(*arguments, cwd=tmp_path) == code


def test_standard_error_without_a_reader_changes_no_exit_code(tmp_path: Path) -> None:
    command = f"{sys.executable} -m tasklab run ack_lost --environment simulated --seed 3 2>&1 >/dev/null | true; exit $PIPESTATUS"

    assert subprocess.run(["bash", "-c", command], cwd=tmp_path, check=False).returncode == 0


@pytest.mark.parametrize("error", [SystemExit(0), SystemExit(1), SystemExit("bye")])
def test_a_plug_in_that_ends_the_process_gives_no_verdict(
    error: SystemExit, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, explained():
        raise error

    assert ended.value.exit_code == EXIT_UNKNOWN
    assert "unknown: the plug-in ended the lab's process: SystemExit" in capsys.readouterr().err


@pytest.mark.parametrize("error", [EOFError(), BrokenPipeError(32, "Broken pipe"), OSError(24, "Too many open files")])
def test_an_error_that_typer_would_end_with_1_is_unforeseen(error: Exception) -> None:
    with pytest.raises(UnexpectedError), explained():
        raise error


def a_judged_run(code: int | None) -> JudgedRun:
    ruling = {EXIT_HELD: Ruling.HELD, EXIT_BROKEN: Ruling.BROKEN, EXIT_UNKNOWN: Ruling.UNKNOWN}
    judgement = None if code is None else cast("Judgement", SimpleNamespace(exit_code=exit_code_of([ruling[code]])))
    return JudgedRun(RunName("s", "x", "e", 1, "r"), None, None, judgement)


@pytest.mark.parametrize(
    ("codes", "together"),
    [
        ([0, None], EXIT_HELD),
        ([1, None], EXIT_BROKEN),
        ([0, None, 3], EXIT_UNKNOWN),
        ([None, None], EXIT_UNKNOWN),
        ([], EXIT_UNKNOWN),
    ],
)
def test_what_is_not_applicable_decides_nothing_unless_nothing_is(codes: list[int | None], together: int) -> None:
    assert exit_code_of_runs([a_judged_run(code) for code in codes]) == together

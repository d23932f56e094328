"""`tasklab report`: what it writes, what it says, how it ends."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tasklab.commands.report import report
from tasklab.presentation.markdown import table_of_runs
from tests import sample_runs


@pytest.fixture
def app() -> typer.Typer:
    commands = typer.Typer()
    commands.command("report")(report)
    return commands


def test_the_report_of_one_run_goes_into_its_directory(app: typer.Typer, tmp_path: Path) -> None:
    run = sample_runs.undecided(tmp_path / "run")

    result = CliRunner().invoke(app, [str(run)])

    assert result.exit_code == 0, result.output
    assert result.output == (
        "unknown: The lab could not tell: fault service_killed on rabbitmq did not bite: it still answers after 5 s.\n"
        f"{run / 'report.html'}\n"
    )
    assert (run / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_report_of_several_runs_goes_where_it_is_told(app: typer.Typer, tmp_path: Path) -> None:
    held, broken = sample_runs.held(tmp_path / "a"), sample_runs.broken(tmp_path / "b")

    result = CliRunner().invoke(app, [str(held), str(broken), "--out", str(tmp_path / "both.html"), "--json"])

    assert result.exit_code == 0, result.output
    said = json.loads(result.output)
    assert said["report"] == str(tmp_path / "both.html")
    assert [(run["directory"], run["system"], run["seed"], run["ruling"]) for run in said["runs"]] == [
        (str(held), "reference", 7, "held"),
        (str(broken), "naive", 7, "broken"),
    ]


def test_the_verdicts_of_several_runs_are_a_table_in_markdown_in_which_no_text_is_marked_up(
    app: typer.Typer, tmp_path: Path
) -> None:
    held, broken = sample_runs.held(tmp_path / "a"), sample_runs.broken(tmp_path / "b")

    result = CliRunner().invoke(app, [str(held), str(broken), "--markdown"])

    heading, rule, first, second = result.output.splitlines()
    assert (heading, rule) == ("| scenario | system | seed | verdict | why |", "| --- | --- | --- | --- | --- |")
    assert first.startswith("| broker\\_killed | reference | 7 | held | reference kept all ")
    assert second.startswith("| broker\\_killed | naive | 7 | **broken** | naive violated ")
    assert table_of_runs([]).count("\n") == 1


@pytest.mark.parametrize("arguments", [["runs"], ["runs/a", "runs/deep/b"], ["{}/runs"]])
def test_the_report_of_several_runs_goes_into_the_directory_that_holds_them(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    sample_runs.held(tmp_path / "runs" / "a")
    sample_runs.broken(tmp_path / "runs" / "deep" / "b")
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, [argument.replace("{}", str(tmp_path)) for argument in arguments])

    assert (result.exit_code, result.output.splitlines()[-1]) == (0, "runs/report.html")
    assert [file.name for file in tmp_path.iterdir()] == ["runs"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{}/nowhere"], "tasklab: {}/nowhere does not exist"),
        (["{}"], "tasklab: {} holds no run: there is no run.json in it"),
        (
            ["{}/run", "--out", "{}/no/such/place.html"],
            "tasklab: {}/no/such/place.html cannot be written: No such file or directory",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_ends_with_2(
    app: typer.Typer, tmp_path: Path, arguments: list[str], said: str
) -> None:
    if "run" in arguments[0]:
        sample_runs.undecided(tmp_path / "run")

    result = CliRunner().invoke(app, [argument.replace("{}", str(tmp_path)) for argument in arguments])

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(said.replace("{}", str(tmp_path)))
    assert result.stderr.count("\n") == 1

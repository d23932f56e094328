"""`tasklab load`: what is wrong with a command line is said in one sentence, before anything is started."""

import importlib.util
import socket
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner, Result

from scenarios.record.run_facts import LoadFigures, Percentiles
from tasklab.command_line import app
from tasklab.commands import load as command


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        pytest.fail("an environment was made")

    monkeypatch.setattr(command, "make_environment", start)


def load(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["load", *arguments])


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--fault", "broker_kiled"], "there is no scenario 'broker_kiled'; did you mean broker_killed"),
        (["--system", "referense"], "there is no system 'referense'; did you mean reference"),
        (["--autostart"], "--autostart and --web-port need --web"),
        (["--web-port", "8089"], "--autostart and --web-port need --web"),
        (["--rate", "5000", "--duration", "3600"], "--rate times --duration is the number of tasks: 1 to 200000"),
        (["--rate", "0.1", "--duration", "1"], "--rate times --duration is the number of tasks: 1 to 200000"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_one_sentence(arguments: list[str], sentence: str) -> None:
    result = load(*arguments)

    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "fast"])
def test_a_rate_that_is_none_is_wrong_usage(rate: str) -> None:
    assert load("--rate", rate).exit_code == 2


def test_without_locust_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    result = load("--rate", "10")

    assert result.exit_code == 3
    assert "pip install 'tasklab[load]'" in result.stderr


def test_a_port_that_is_taken_is_exit_code_3_and_named(taken_port: int) -> None:
    result = load("--web", "--web-port", str(taken_port))

    assert result.exit_code == 3
    assert f"port {taken_port} is taken" in result.stderr


@pytest.mark.parametrize(
    ("backlog", "without_effect", "said"),
    [
        (200, 0, []),
        (2325, 0, ["the system did not keep up: 2325 of 4000 open when the load ended; caught up 12.0 s later"]),
        (2325, 7, ["the system did not keep up: 2325 of 4000 open when the load ended; 7 of them never had an effect"]),
    ],
)
def test_a_system_that_did_not_keep_up_is_told_so_in_a_sentence(
    backlog: int, without_effect: int, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    figures = LoadFigures(
        planned=4000,
        sent=4000,
        on_time=4000,
        acknowledged=4000,
        refused=0,
        unknown=0,
        planned_per_s=200,
        offered_per_s=200.0,
        latest_s=0.0,
        answers=Percentiles(0.01, 0.02, 0.03, 0.04),
        effects=Percentiles(6.0, 11.0, 12.0, 12.1),
        without_effect=without_effect,
        backlog=backlog,
        caught_up_s=12.0,
    )

    command.print_figures(figures)

    lines = capsys.readouterr().out.splitlines()
    last = next(number for number, line in enumerate(lines) if line.startswith("load:"))
    assert [line.strip() for line in lines[last + 1 :]] == said

"""What commands have in common: how they end, and that what is to be copied comes out in one piece."""

import pytest
from rich.table import Table

from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN, worst
from tasklab.presentation.terminal import console

COMMAND = "  tasklab replay world~" + "x" * 300


@pytest.mark.parametrize(
    ("codes", "together"),
    [
        ([], EXIT_UNKNOWN),
        ([EXIT_HELD, EXIT_HELD], EXIT_HELD),
        ([EXIT_HELD, EXIT_UNKNOWN], EXIT_UNKNOWN),
        ([EXIT_UNKNOWN, EXIT_BROKEN, EXIT_HELD], EXIT_BROKEN),
    ],
)
def test_a_break_outweighs_what_is_unknown_and_that_what_held(codes: list[int], together: int) -> None:
    assert worst(codes) == together


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_line_to_be_copied_comes_out_in_one_piece_and_as_it_is(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")  # one that says nothing of its size is taken for eighty wide
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)

    console().print(COMMAND)
    console().print("/runs/[bold]/:ack:")

    assert capsys.readouterr().out == f"{COMMAND}\n/runs/[bold]/:ack:\n"


@pytest.mark.parametrize(("is_terminal", "lines"), [(False, 1), (True, 9)])
def test_a_table_folds_on_a_terminal_and_nowhere_else(
    is_terminal: bool, lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")  # one that says nothing of its size is taken for eighty wide
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(overflow="fold")
    table.add_row(COMMAND)

    console().print(table)

    assert len(capsys.readouterr().out.splitlines()) == lines

"""The story of a simulated world on the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tasklab.presentation.terminal import console

if TYPE_CHECKING:
    from scenarios.record.run_facts import Turn

TURNS_SHOWN = 40


def print_story(turns: "Sequence[Turn]") -> None:
    """One numbered line for each step, times in virtual seconds."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="dim")
    table.add_column(justify="right", style="dim")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    numbered = list(enumerate(turns, 1))
    left_out = numbered[TURNS_SHOWN // 2 : -TURNS_SHOWN // 2] if len(turns) > TURNS_SHOWN else []
    for number, turn in numbered:
        if left_out and number == left_out[0][0]:
            table.add_row("…", "", "", f"{len(left_out)} more turns, in run.json and in the report")
        if (number, turn) not in left_out:
            table.add_row(f"{number}.", f"{turn.began_ns / 1e9:.4f} s", Text(turn.actor), Text(turn.text))
    console().print(table)

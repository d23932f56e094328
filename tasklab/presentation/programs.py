"""Programs on this machine, and the commands that install the missing ones."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tasklab.presentation.terminal import console

if TYPE_CHECKING:
    from chaos.binaries import ProgramStatus
    from chaos.installation import Installation

OPTIONAL = ("docker", "locust")
"""What a run does without."""


def rows_of(found: "Sequence[ProgramStatus]") -> list[dict[str, str]]:
    """For the table, and for --json: of each program its name, what it is used for, its path ("": missing) and its version."""
    return [
        {
            "name": one.program.name,
            "used_for": one.program.service or one.program.used_for,
            "path": str(one.path or ""),
            "version": one.version,
        }
        for one in found
    ]


def print_programs(rows: Sequence[dict[str, str]]) -> None:
    """One line for each."""
    from rich.text import Text

    heading = {"name": "program", "used_for": "used for", "path": "where", "version": "version"}
    headed = [heading, *rows]
    widths = {column: max(len(row[column]) for row in headed) for column in heading}
    for row in headed:
        absent = "missing, optional" if row["name"] in OPTIONAL else "missing"
        cells = (f"{row[column]:<{widths[column]}}" for column in ("name", "used_for", "version"))
        line = Text("  ".join(cells) + "  ")
        where = row["path"] or absent
        console().print(line.append(where, style="" if row["path"] else "yellow"))  # last, because a path may be long


def print_installation(missing: Sequence[str], planned: "Installation") -> None:
    """What is missing, the commands that `tasklab services install` runs, and what they do not bring."""
    from rich.text import Text

    terminal = console()
    if not missing:
        terminal.print("\nnothing is missing")
        return
    terminal.print(f"\nmissing: {', '.join(missing)}")
    if planned.commands:
        terminal.print("`tasklab services install` runs:" if planned.is_runnable else "to be run:")
    for line in planned.lines():
        terminal.print(Text(f"  {line}"))
    for obstacle in planned.obstacles:
        terminal.print(Text(obstacle, style="yellow"))
    terminal.print("without them: `--environment embedded` needs no server")

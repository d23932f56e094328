"""`tasklab doctor`: what is installed, what is missing, and the one command that mends it."""

import shutil
from typing import Annotated

import typer

from tasklab.commands.output import EXIT_HELD, EXIT_UNKNOWN, console, print_json

MEND = "make services"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def doctor(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Show what this machine has of what the lab can use. Exit code 0 when nothing is missing, else 3."""
    from chaos.binaries import inventory

    rows: list[tuple[str, str, str, str]] = [
        (found.program.name, found.program.service or "network faults", str(found.path or ""), found.version)
        for found in inventory()
    ]
    rows.append(_locust())
    rows.append(_browser())
    missing = [name for name, _, path, _ in rows if not path]
    if as_json:
        entries = [dict(zip(("name", "used_for", "path", "version"), row, strict=True)) for row in rows]
        document = {"programs": entries, "missing": missing, "mend": MEND if missing else None}
        print_json(document)
    else:
        _print(rows, missing)
    raise typer.Exit(EXIT_UNKNOWN if missing else EXIT_HELD)


def _print(rows: list[tuple[str, str, str, str]], missing: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("program", "used for", "where", "version"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "where")
    for name, used_for, path, version in rows:
        table.add_row(name, used_for, Text(path or "missing", style="" if path else "yellow"), version)
    terminal = console()
    terminal.print(table)
    if missing:
        terminal.print(
            Text(
                f"\nmissing: {', '.join(missing)}; `{MEND}` brings it (Debian packages with root or sudo, Toxiproxy by go install)"
            )
        )
        terminal.print(Text("without it: `--environment embedded` needs no server at all"))
    else:
        terminal.print("\nnothing is missing")


def _locust() -> tuple[str, str, str, str]:
    import importlib.metadata

    try:
        version = importlib.metadata.version("locust")  # its import would patch this process
    except importlib.metadata.PackageNotFoundError:
        return "locust", "tasklab load", "", ""
    return "locust", "tasklab load", "Python package", version


def _browser() -> tuple[str, str, str, str]:
    path = next((found for name in BROWSERS if (found := shutil.which(name))), "")
    return "chromium", "the tests of the report", path, ""

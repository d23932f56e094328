"""`tasklab doctor`: installed and missing programs, and the command that installs the missing ones."""

import shutil
from contextlib import closing
from typing import Annotated

import typer

from tasklab.exit_codes import EXIT_HELD, EXIT_UNKNOWN
from tasklab.presentation.terminal import console, print_json

REMEDY = "make services"
OPTIONAL = "docker"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def doctor(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Show which of the programs that the lab can use this machine has. Exit code 0 if none is missing, else 3."""
    from chaos.binaries import inventory

    rows: list[tuple[str, str, str, str]] = [
        (found.program.name, found.program.service or "network faults", str(found.path or ""), found.version)
        for found in inventory()
    ]
    rows.append(_locust())
    rows.append(_browser())
    missing = [name for name, _, path, _ in rows if not path]
    row, removed, why_not = _docker()
    rows.append(row)
    if as_json:
        entries = [dict(zip(("name", "used_for", "path", "version"), row, strict=True)) for row in rows]
        document = {
            "programs": entries,
            "missing": missing,
            "mend": REMEDY if missing else None,
            "removed_containers": removed,
        }
        print_json(document)
    else:
        _print(rows, missing)
        _print_containers(removed, why_not)
    raise typer.Exit(EXIT_UNKNOWN if missing else EXIT_HELD)


def _print(rows: list[tuple[str, str, str, str]], missing: list[str]) -> None:
    from rich.text import Text

    headed = [("program", "used for", "where", "version"), *rows]
    name_width, purpose_width, version_width = (max(len(row[column]) for row in headed) for column in (0, 1, 3))
    terminal = console()
    for name, used_for, path, version in headed:
        absent = "missing, optional" if name == OPTIONAL else "missing"
        line = Text(f"{name:<{name_width}}  {used_for:<{purpose_width}}  {version:<{version_width}}  ")
        terminal.print(line.append(path or absent, style="" if path else "yellow"))  # last, because a path may be long
    if missing:
        terminal.print(
            f"\nmissing: {', '.join(missing)}; `{REMEDY}` installs it (Debian packages with root or sudo, Toxiproxy by go install)"
        )
        terminal.print("without it: `--environment embedded` needs no server")
    else:
        terminal.print("\nnothing is missing")


def _print_containers(removed: list[str], why_not: str) -> None:
    from rich.text import Text

    if why_not:
        console().print(Text(f"without `--environment containers`: {why_not}", style="dim"))
    if removed:
        console().print(Text(f"removed containers that killed labs had left: {', '.join(removed)}"))


def _docker() -> tuple[tuple[str, str, str, str], list[str], str]:
    """Docker's row; the removed containers of killed labs; and the reason why Docker cannot be used ("" if it can)."""
    from chaos.errors import ChaosError
    from chaos.services.docker_engine import connect

    used_for = "--environment containers"
    try:
        with closing(connect()) as engine:
            removed = engine.remove_orphans()
            return (OPTIONAL, used_for, "its daemon answers", engine.version()), removed, ""
    except ChaosError as error:
        return (OPTIONAL, used_for, "", ""), [], str(error)


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

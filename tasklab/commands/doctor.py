"""`tasklab doctor`: installed and missing programs, and the commands that install the missing ones."""

from contextlib import closing
from typing import Annotated

import typer

from tasklab.exit_codes import EXIT_HELD, EXIT_UNKNOWN
from tasklab.presentation.programs import OPTIONAL, print_installation, print_programs, rows_of
from tasklab.presentation.terminal import console, print_json


def doctor(as_json: Annotated[bool, typer.Option("--json", help="One document on standard output.")] = False) -> None:
    """Show which of the programs that the lab can use this machine has. Exit code 0 if none is missing, else 3."""
    from chaos.binaries import inventory
    from chaos.installation import installation, this_machine

    found = inventory()
    planned = installation([one.program for one in found if one.path is None], this_machine())
    row, removed, why_not = _docker()
    rows = [*rows_of(found), _locust(), row]
    missing = [row["name"] for row in rows if not row["path"] and row["name"] not in OPTIONAL]
    if as_json:
        commands = {"commands": planned.lines(), "obstacles": planned.obstacles}
        print_json({"programs": rows, "missing": missing, **commands, "removed_containers": removed})
    else:
        print_programs(rows)
        print_installation(missing, planned)
        _print_containers(removed, why_not)
    raise typer.Exit(EXIT_UNKNOWN if missing else EXIT_HELD)


def _print_containers(removed: list[str], why_not: str) -> None:
    from rich.text import Text

    if why_not:
        console().print(Text(f"without `--environment containers`: {why_not}", style="dim"))
    if removed:
        console().print(Text(f"removed containers that killed labs had left: {', '.join(removed)}"))


def _docker() -> tuple[dict[str, str], list[str], str]:
    """Docker's row; the removed containers of killed labs; and the reason why Docker cannot be used ("" if it can)."""
    from chaos.errors import ChaosError
    from chaos.services.docker_engine import connect

    row = {"name": "docker", "used_for": "--environment containers", "path": "", "version": ""}
    try:
        with closing(connect()) as engine:
            removed = engine.remove_orphans()
            return {**row, "path": "its daemon answers", "version": engine.version()}, removed, ""
    except ChaosError as error:
        return row, [], str(error)


def _locust() -> dict[str, str]:
    import importlib.metadata

    row = {"name": "locust", "used_for": "tasklab load", "path": "", "version": ""}
    try:
        version = importlib.metadata.version("locust")  # its import would patch this process
    except importlib.metadata.PackageNotFoundError:
        return row
    return {**row, "path": "Python package", "version": version}

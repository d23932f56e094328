"""`tasklab services`: the servers that the lab starts, on this machine; `tasklab services install` installs the missing ones."""

import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.exit_codes import EXIT_HELD, EXIT_UNKNOWN, EXIT_USAGE, explained, fail
from tasklab.presentation.programs import print_installation, print_programs, rows_of
from tasklab.presentation.terminal import console, print_json

if TYPE_CHECKING:
    from chaos.binaries import Program, ProgramStatus
    from chaos.installation import Installation

STDERR = 2
"""Its file descriptor: standard output is for results."""

services = typer.Typer(invoke_without_command=True)


@services.callback()
def show(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One document on standard output.")] = False,
) -> None:
    """Show which of the servers that the lab starts are on this machine, and the commands that install the missing ones.

    Exit code 0 if none is missing, else 3.

    Example: tasklab services install redis rabbitmq
    """
    if context.invoked_subcommand is not None:
        return
    found, planned = _planned(_programs_of([]), with_browser=False)
    missing = [one.program.name for one in found if one.path is None]
    if as_json:
        print_json(
            {
                "programs": rows_of(found),
                "missing": missing,
                "commands": planned.lines(),
                "obstacles": planned.obstacles,
            }
        )
    else:
        print_programs(rows_of(found))
        print_installation(missing, planned)
    raise typer.Exit(EXIT_UNKNOWN if missing else EXIT_HELD)


@services.command()
def install(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SERVICE…", help="Only these: mysql, redis, rabbitmq, postgresql. Toxiproxy is always among them."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands, and run none.")] = False,
    with_browser: Annotated[
        bool, typer.Option("--with-browser", help="Also Chromium and its driver, for the tests of the lab itself.")
    ] = False,
) -> None:
    """Install the missing servers by the package manager of this machine (apt-get, dnf or brew), and Toxiproxy by Go.

    It prints the commands and asks before it runs them. Exit code 0 if nothing is missing afterwards, else 3.

    Example: tasklab services install redis rabbitmq --dry-run
    """
    with explained():
        wanted = _programs_of(names or [])
        found, planned = _planned(wanted, with_browser=with_browser)
        missing = [one.program.name for one in found if one.path is None]
        print_installation(missing, planned)
        if dry_run or not missing:
            return
        if planned.is_runnable and _is_agreed(yes):
            _carry_out(planned)
            found, _ = _planned(wanted, with_browser=with_browser)
            missing = [one.program.name for one in found if one.path is None]
            console().print(f"\nstill missing: {', '.join(missing)}" if missing else "\nnothing is missing any more")
    raise typer.Exit(EXIT_UNKNOWN if missing else EXIT_HELD)


def _programs_of(names: Sequence[str]) -> "tuple[Program, ...]":
    """The programs of these services, of all if none is named; and those that no single service needs.

    Raises:
        WrongUsage: there is no such service.
    """
    from chaos.binaries import PROGRAMS
    from chaos.services.addresses import SERVICE_NAMES
    from scenarios.errors import WrongUsage

    if unknown := [name for name in names if name not in SERVICE_NAMES]:
        raise WrongUsage(f"there is no service {unknown[0]!r}; the services are {', '.join(SERVICE_NAMES)}")
    return tuple(one for one in PROGRAMS if one.service is None or one.service in (names or SERVICE_NAMES))


def _planned(wanted: "tuple[Program, ...]", *, with_browser: bool) -> "tuple[list[ProgramStatus], Installation]":
    """Each program, and how the missing ones are installed."""
    from chaos.binaries import BROWSER, inventory
    from chaos.installation import installation, this_machine

    found = inventory(wanted + BROWSER if with_browser else wanted)
    return found, installation([one.program for one in found if one.path is None], this_machine())


def _is_agreed(yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        fail("`tasklab services install` asks before it runs these commands; without a terminal add --yes", EXIT_USAGE)
    return typer.confirm("run these commands?")


def _carry_out(planned: "Installation") -> None:
    """Run the commands; the first that fails ends the rest, with a sentence."""
    for argv, line in zip(planned.commands, planned.lines(), strict=True):
        print(f"$ {line}", file=sys.stderr)
        try:
            code = subprocess.run(argv, stdout=STDERR, check=False).returncode
        except OSError as error:
            fail(f"{line}: cannot be started: {error.strerror}", EXIT_UNKNOWN)
        if code:
            fail(
                f"{line}: ended with exit code {code}; its own lines above say why. It needs a network, and the right to install",
                EXIT_UNKNOWN,
            )

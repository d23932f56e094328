"""The command line: the global options, and the commands, which are in `commands/`, one a file."""

import signal
import sys
import traceback

import typer

from tasklab import __version__
from tasklab.commands.check import check
from tasklab.commands.conform import conform
from tasklab.commands.demo import demo
from tasklab.commands.doctor import doctor
from tasklab.commands.facts import facts
from tasklab.commands.init import init
from tasklab.commands.list_names import list_names
from tasklab.commands.load import load
from tasklab.commands.mutants import mutants
from tasklab.commands.replay import replay
from tasklab.commands.report import report
from tasklab.commands.run import run
from tasklab.commands.services import services
from tasklab.commands.simulate import simulate
from tasklab.exit_codes import EXIT_UNKNOWN, NO_ROOM, no_room
from tasklab.presentation.streams import discard_output, make_streams_pipe_safe

EPILOG = """Exit codes: 0 all claimed promises held · 1 a promise is broken · 2 wrong usage · 3 unknown: the lab could not tell
(a service did not start, a fault did not bite or heal, too little work, a malformed history)."""

CONFORM_EPILOG = """Exit codes: 0 every word does what it says · 1 something is to be mended · 2 wrong usage · 3 unknown: the lab could not
tell (a service did not start)."""

app = typer.Typer(
    name="tasklab",
    help="A reliability test lab for asynchronous task systems: it runs yours in a world that it controls, injects faults, "
    "records what happens to every task, and judges the record.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=EPILOG)(run)
app.command(epilog=EPILOG)(simulate)
app.command(epilog=EPILOG)(replay)
app.command()(mutants)
app.command(epilog=EPILOG)(load)
app.command(epilog=CONFORM_EPILOG)(conform)
app.command()(facts)
app.command()(init)
app.command()(demo)
app.command("list")(list_names)
app.command(epilog=EPILOG)(check)
app.command()(report)
app.command()(doctor)
app.add_typer(services, name="services")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tasklab {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Options before any command."""


def run_command_line() -> None:
    """Carry out the command; ends the process."""
    # SIGTERM as Ctrl-C: an orderly end of the lab cleans up everything.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    make_streams_pipe_safe()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 — the outermost edge: exit code 1 would mean a broken promise
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            discard_output()
            if not _is_explained(error):
                print(f"tasklab: {no_room(error)}", file=sys.stderr)
        else:
            traceback.print_exc()
            print("tasklab: unknown: internal error of the lab; the lines above show where", file=sys.stderr)
        sys.exit(EXIT_UNKNOWN)


def _is_explained(error: OSError) -> bool:
    """Whether the command had already ended as unknown, with its reason, before its last output failed."""
    ended = error.__context__
    return isinstance(ended, SystemExit) and ended.code == EXIT_UNKNOWN

"""What commands have in common on the terminal: progress, verdicts in words, exit codes, errors in one sentence."""

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from scenarios.judging.verdict import EXIT_BROKEN as EXIT_BROKEN
from scenarios.judging.verdict import EXIT_HELD as EXIT_HELD
from scenarios.judging.verdict import EXIT_UNKNOWN as EXIT_UNKNOWN
from scenarios.judging.verdict import Ruling

if TYPE_CHECKING:
    from rich.console import Console

EXIT_USAGE = 2

PIPE_COLUMNS = 10_000
"""A pipe has no width: what is read by a program, or kept as a file, is folded nowhere."""

STYLE_OF_RULING = {Ruling.HELD: "green", Ruling.BROKEN: "bold red", Ruling.UNKNOWN: "yellow"}
STYLE_OF_EXIT = {
    EXIT_HELD: STYLE_OF_RULING[Ruling.HELD],
    EXIT_BROKEN: STYLE_OF_RULING[Ruling.BROKEN],
    EXIT_UNKNOWN: STYLE_OF_RULING[Ruling.UNKNOWN],
}


def worst(codes: Iterable[int]) -> int:
    """The exit code of several runs together: a break outweighs what is unknown, and that what held; of none: unknown."""
    found = set(codes)
    for code in (EXIT_BROKEN, EXIT_UNKNOWN, EXIT_HELD):
        if code in found:
            return code
    return EXIT_UNKNOWN


def console() -> "Console":
    """Standard output, for results. Lines come out in one piece, for paths and commands are copied; only tables fold, on a terminal.

    Strings, those in tables too, may be anybody's: what in them would steer the terminal is shown instead.
    """
    from rich.console import Console
    from rich.text import Text

    class Terminal(Console):
        """Makes every string that is printed visible before it is measured; a `Text` is the lab's own."""

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(harmless(text), **options)

    width = None if sys.stdout.isatty() else PIPE_COLUMNS
    return Terminal(width=width, soft_wrap=True, highlight=False, markup=False, emoji=False)


def harmless(text: str) -> str:
    """A text of anybody's, such as a task's name, that a terminal can only show."""
    from reports.embedding import visible  # its imports are not for `tasklab --help`

    return visible(text)


def print_json(value: object) -> None:
    """A result as JSON that a person can read, too."""
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


class Progress:
    """Says on standard error what is going on, with the seconds since it began; standard output is for results."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()

    def __call__(self, text: str) -> None:
        """One line."""
        print(f"{time.monotonic() - self._began_s:7.1f} s  {harmless(text)}", file=sys.stderr, flush=True)


@contextmanager
def explained() -> Iterator[None]:
    """Turns what the caller got wrong into one sentence and exit code 2, what the lab could not do into exit code 3."""
    from chaos.errors import ChaosError
    from scenarios.errors import ScenarioError, WrongUsage

    try:
        yield
    except WrongUsage as error:
        fail(str(error), EXIT_USAGE)
    except (ChaosError, ScenarioError) as error:
        fail(f"unknown: {error}", EXIT_UNKNOWN)
    except KeyboardInterrupt:
        print("tasklab: interrupted; everything that was started has been ended", file=sys.stderr)
        raise


def fail(why: str, code: int) -> NoReturn:
    """End with one sentence on standard error."""
    print(f"tasklab: {harmless(why)}", file=sys.stderr)
    raise typer.Exit(code)

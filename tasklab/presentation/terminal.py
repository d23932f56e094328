"""Standard output for results, standard error for progress; both safe against control characters from systems under test."""

import json
import sys
import time
from typing import TYPE_CHECKING, Any

from scenarios.judging.verdict import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN, Ruling

if TYPE_CHECKING:
    from rich.console import Console

PIPE_COLUMNS = 10_000
"""Width for a pipe or a file, where no line is folded."""

STYLE_OF_RULING = {Ruling.HELD: "green", Ruling.BROKEN: "bold red", Ruling.UNKNOWN: "yellow"}
STYLE_OF_EXIT = {
    EXIT_HELD: STYLE_OF_RULING[Ruling.HELD],
    EXIT_BROKEN: STYLE_OF_RULING[Ruling.BROKEN],
    EXIT_UNKNOWN: STYLE_OF_RULING[Ruling.UNKNOWN],
}


def console() -> "Console":
    """Standard output, for results. Lines are never folded, because paths and commands are copied; tables fold, on a terminal only.

    Any string, also in a table, may come from the system under test: its control characters are escaped.
    """
    from rich.console import Console
    from rich.text import Text

    class Terminal(Console):
        """Escapes every printed string before it is measured; a `Text` comes from the lab itself."""

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(harmless(text), **options)

    width = None if sys.stdout.isatty() else PIPE_COLUMNS
    return Terminal(width=width, soft_wrap=True, highlight=False, markup=False, emoji=False)


def harmless(text: str) -> str:
    """The text with control characters escaped; for texts from elsewhere, such as a task's name."""
    from reports.embedding import visible  # late: `tasklab --help` does not need its imports

    return visible(text)


def print_json(value: object) -> None:
    """Print a result as indented JSON. Invisible characters are escaped: same document, but safe on a terminal."""
    import msgspec

    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # an unpaired surrogate, from a file name that is not UTF-8
        text = json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False)
    print(harmless(text))


def print_json_line(line: bytes) -> None:
    """Print one line of JSON with invisible characters escaped, and flush."""
    print(harmless(line.decode()), flush=True)


class Progress:
    """Writes progress on standard error, with the seconds since its creation."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()

    def __call__(self, text: str) -> None:
        """Write one line."""
        print(f"{time.monotonic() - self._began_s:7.1f} s  {harmless(text)}", file=sys.stderr, flush=True)

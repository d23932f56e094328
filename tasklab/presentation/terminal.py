"""Standard output for results, standard error for progress; both made safe against what systems under test write."""

import json
import sys
import time
from typing import TYPE_CHECKING, Any

from scenarios.judging.verdict import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN, Ruling

if TYPE_CHECKING:
    from rich.console import Console

PIPE_COLUMNS = 10_000
"""Width of a pipe or a file: no line is folded there."""

STYLE_OF_RULING = {Ruling.HELD: "green", Ruling.BROKEN: "bold red", Ruling.UNKNOWN: "yellow"}
STYLE_OF_EXIT = {
    EXIT_HELD: STYLE_OF_RULING[Ruling.HELD],
    EXIT_BROKEN: STYLE_OF_RULING[Ruling.BROKEN],
    EXIT_UNKNOWN: STYLE_OF_RULING[Ruling.UNKNOWN],
}


def console() -> "Console":
    """Standard output, for results. Lines are never folded, because paths and commands are copied; tables fold, on a terminal only.

    Any string, also in a table, may come from the system under test: control characters in it are shown, not obeyed.
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
    """The text with its control characters shown instead of obeyed; for texts that are not the lab's, such as a task's name."""
    from reports.embedding import visible  # its imports are not for `tasklab --help`

    return visible(text)


def print_json(value: object) -> None:
    """A result as JSON, indented. Invisible characters are escaped: the document means the same, and moves no cursor."""
    import msgspec

    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # half of a surrogate pair: from the name of a file that is not UTF-8
        text = json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False)
    print(harmless(text))


def print_json_line(line: bytes) -> None:
    """One line of JSON, its invisible characters escaped; written at once."""
    print(harmless(line.decode()), flush=True)


class Progress:
    """Writes on standard error what is going on, with the seconds since it was made."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()

    def __call__(self, text: str) -> None:
        """One line."""
        print(f"{time.monotonic() - self._began_s:7.1f} s  {harmless(text)}", file=sys.stderr, flush=True)

"""The progress line of a campaign of simulated worlds."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tasklab.running.judged_run import Say

if TYPE_CHECKING:
    from scenarios.simulated.search.tally import Tally

SAY_EVERY_S = 10.0
REWRITE_EVERY_S = 0.2


@contextmanager
def shown(tally: "Tally", say: Say) -> "Iterator[Callable[[], None]]":
    """A function to call after every row: on a terminal it rewrites a line, otherwise it writes one every few seconds."""
    began_s = said_s = time.monotonic()
    is_terminal = sys.stderr.isatty()

    def show() -> None:
        nonlocal said_s
        now_s = time.monotonic()
        if now_s - said_s < (REWRITE_EVERY_S if is_terminal else SAY_EVERY_S):
            return
        said_s = now_s
        text = _so_far(tally, now_s - began_s)
        if is_terminal:
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
        else:
            say(text)

    yield show
    if is_terminal:
        print(f"\r{_so_far(tally, time.monotonic() - began_s)}\x1b[K", file=sys.stderr, flush=True)


def _so_far(tally: "Tally", took_s: float) -> str:
    pairs = len(tally.coverage)
    return (
        f"{tally.worlds} worlds, {tally.worlds / took_s:.0f} a second; {tally.faults} faults struck, "
        f"{pairs} pairs of fault and phase covered; {len(tally.broken)} broken, {len(tally.unknown)} unknown"
    )

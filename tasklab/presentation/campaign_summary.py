"""The summary of a campaign of simulated worlds: coverage, rates, crash points, alarms, and bounds where there was no alarm."""

from string import ascii_uppercase
from typing import TYPE_CHECKING

from tasklab.exit_codes import EXIT_HELD
from tasklab.presentation.story import print_story
from tasklab.presentation.terminal import STYLE_OF_EXIT, console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from scenarios.simulated.search.campaign import Visited
    from scenarios.simulated.search.explore import Row
    from scenarios.simulated.search.hunt import ShrunkCatch
    from scenarios.simulated.search.tally import Tally


def print_summary(
    tally: "Tally",
    visits: "Visited | None",
    told: "list[tuple[Row, ShrunkCatch]]",
    *,
    took_s: float | None = None,
    interrupted: bool = False,
) -> None:
    """Coverage, rates (if `took_s` is known), crash points, alarms and their stories, and the verdict."""
    from rich.text import Text

    terminal = console()
    terminal.print()
    if tally.coverage:
        table, letters = _coverage(tally)
        terminal.print(table)
        terminal.print(letters, style="dim")
    _print_sizes(terminal, tally, visits, took_s)
    for row in (*tally.broken, *tally.unknown):
        _print_alarm(terminal, row)
    for row, shrunk in told:
        _print_told(terminal, row, shrunk)
    if seldom := tally.seldom_tested():
        terminal.print(_promises(seldom))
    if tally.without_details:
        terminal.print(
            f"{tally.without_details} rows of an earlier version do not say which promises they put to the test"
        )
    terminal.print(Text(_verdict(tally, interrupted=interrupted), style=STYLE_OF_EXIT[tally.exit_code]))


def _print_sizes(terminal: "Console", tally: "Tally", visits: "Visited | None", took_s: float | None) -> None:
    """Numbers of worlds, visited crash points, repetitions, and processes that ended by themselves."""
    from rich.text import Text

    terminal.print(f"{tally.worlds} worlds, {tally.tasks} tasks, {tally.faults} faults{_rates(tally, took_s)}")
    if tally.calm:
        terminal.print(f"no fault bit in {tally.calm} of the worlds")
    if tally.delays:
        terminal.print(
            "delays: " + ", ".join(f"{kind} in {count} worlds" for kind, count in sorted(tally.delays.items()))
        )
    if visits is not None:
        terminal.print(
            f"crash points of the small workload: {visits.alone} of {visits.points} visited, one crash each; "
            f"{visits.pairs} pairs of crashes, drawn"
        )
    if tally.checked:
        terminal.print(
            f"repeated in another process: {tally.checked} worlds, {len(tally.differing)} with another result"
        )
    for why, count in tally.gone.most_common():
        terminal.print(Text(f"processes that ended by themselves: {count}: {why}", style="dim"))


def _print_alarm(terminal: "Console", row: "Row") -> None:
    from rich.text import Text

    from scenarios.simulated.search.token import Token, options_of

    options = options_of(Token(row.series, row.system, row.seed))
    what = f"broken: {', '.join(row.broken)}" if row.broken else f"unknown: {'; '.join(row.problems)}"
    terminal.print(Text(f"{row.series}, seed {row.seed}: {what}", style=STYLE_OF_EXIT[row.exit_code]))
    terminal.print(Text(f"  tasklab replay {row.token}{options}"))


def _print_told(terminal: "Console", row: "Row", shrunk: "ShrunkCatch") -> None:
    from rich.text import Text

    from scenarios.simulated.search.token import options_of

    heading = f"\n{shrunk.promise.value}, shrunk from {row.token} in {shrunk.tries} tries:"
    terminal.print(Text(heading, style="bold"))
    print_story(shrunk.turns)
    print(f"  tasklab replay {shrunk.token}{options_of(shrunk.token)}")


def _rates(tally: "Tally", took_s: float | None) -> str:
    if not took_s:
        return ""
    return (
        f" in {took_s:.1f} s: {tally.worlds / took_s:.0f} worlds and {tally.tasks / took_s:.0f} tasks a second, "
        f"{tally.virtual_s / took_s:.0f} times faster than real time"
    )


def _verdict(tally: "Tally", *, interrupted: bool) -> str:
    if tally.exit_code == EXIT_HELD and interrupted:
        return f"interrupted: no promise was broken so far; alarms: {tally.silence}"
    if tally.exit_code == EXIT_HELD:
        return f"every claimed promise held in every world; alarms: {tally.silence}"
    if tally.broken:
        return f"a claimed promise is broken in {len(tally.broken)} of {tally.worlds} worlds"
    if not tally.worlds:
        return "unknown: no world was run"
    return "unknown: some worlds could not be judged, or had another result when repeated"


def _promises(seldom: "list[tuple[str, int]]") -> "Table":
    """Bounds on the rate of breaks, for promises that only some worlds put to the test."""
    from rich.table import Table

    from scenarios.judging.judge import bound

    table = Table(
        title="promises that only some of the worlds put to the test",
        title_justify="left",
        box=None,
        padding=(0, 0, 0, 1),
        show_header=False,
    )
    for promise, worlds in seldom:
        table.add_row(promise, bound(worlds) if worlds else "in none: nothing is known about it")
    return table


def _short(count: int) -> str:
    """The count in at most four characters."""
    if count == 0:
        return "–"
    return str(count) if count < 10_000 else f"{count // 1000}k"


def _coverage(tally: "Tally") -> "tuple[Table, str]":
    """The table, with a letter for each fault, and the key to the letters."""
    from rich.table import Table

    from scenarios.simulated.coverage import PHASES

    table = Table(
        title="how often each fault struck in each phase", title_justify="left", box=None, padding=(0, 0, 0, 1)
    )
    table.add_column("phase", no_wrap=True)
    letters = dict(zip(sorted({fault for fault, _ in tally.coverage}), ascii_uppercase, strict=False))
    for letter in letters.values():
        table.add_column(letter, justify="right", no_wrap=True)
    for phase in PHASES:
        table.add_row(phase, *(_short(tally.coverage[fault, phase]) for fault in letters))
    return table, " · ".join(f"{letter} {fault.replace('_', ' ')}" for fault, letter in letters.items())

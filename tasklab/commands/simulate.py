"""`tasklab simulate`: a system's own code in thousands of simulated worlds, each judged; what breaks is shrunk and told."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.campaign_line import shown
from tasklab.commands.output import EXIT_HELD, STYLE_OF_EXIT, Progress, console, explained
from tasklab.commands.story import print_story

if TYPE_CHECKING:
    from rich.table import Table

    from scenarios.simulated.executors import Executor
    from scenarios.simulated.explore import Row
    from scenarios.simulated.hunt import Told
    from scenarios.simulated.tally import Tally

ALARMS_MAX = 5
"""After so many a campaign ends: it has something to tell."""


class ExecutorName(StrEnum):
    """Who runs the worlds."""

    LOCAL = "local"
    RAY = "ray"


def simulate(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SCENARIO…]",
            help="swarm, crash_points, or names from `tasklab list scenarios`. None: everything that can be simulated.",
        ),
    ] = None,
    system: Annotated[
        str, typer.Option(help="A name from `tasklab list systems`, or package.module:attribute of your own plug-in.")
    ] = "reference",
    seeds: Annotated[
        str, typer.Option(metavar="A..B", help="The worlds, both ends included; one a seed and scenario.")
    ] = "1..1000",
    jobs: Annotated[int, typer.Option(min=1, help="Processes of this machine.")] = os.cpu_count() or 1,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="Go on with the seeds after B until so much time has passed.")
    ] = None,
    shard: Annotated[
        str, typer.Option(metavar="K/N", help="Every N-th seed only, from the K-th: for a matrix of machines.")
    ] = "1/1",
    executor: Annotated[ExecutorName, typer.Option(help="ray: the workers of a Ray cluster.")] = ExecutorName.LOCAL,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append a JSON line for each world; such files can be joined.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON line for each world on standard output.")] = False,
) -> None:
    """Run a system's own code in simulated worlds, one a seed, and judge each: exit code 0 only if every promise held in all.

    Ends early after a few alarms. Each is printed as a line that repeats it in any process on any machine; the first of each promise
    is shrunk to a world as small as can be, and told step by step.

    Example: tasklab simulate swarm --seeds 1..10000 --jobs 2
    """
    with explained():
        from scenarios.simulated.campaign import check, explore, seeds_of, tell_alarms
        from scenarios.simulated.explore import explorer_of, works_of
        from scenarios.simulated.series import series_names
        from scenarios.simulated.tally import Tally

        say = Progress()
        names = scenarios or series_names()
        for name in names:
            explorer_of(system).series(name)  # an unknown name is wrong usage, now and not in some worker
        began_s = time.monotonic()
        numbers = seeds_of(seeds, shard, until_s=None if minutes is None else began_s + 60 * minutes)
        tally = Tally()
        rows: list[Row] = []
        try:
            with ExitStack() as stack:
                run = stack.enter_context(_executor(executor, jobs))
                show = stack.enter_context(shown(tally, say))
                for row in explore(run, system, works_of(names, numbers), tally):
                    rows.append(row)
                    _keep(row, out, as_json=as_json)
                    show()
                    if len(tally.broken) + len(tally.unknown) >= ALARMS_MAX:
                        break
            took_s = time.monotonic() - began_s
            check(system, [row for row in rows if row.digest is not None], tally)
            told = tell_alarms(tally, say)
        except KeyboardInterrupt:
            say("interrupted; this is what was found by then")
            took_s, told = time.monotonic() - began_s, []
    if not as_json:
        _print(tally, rows, told, took_s, system)
    raise typer.Exit(tally.exit_code)


@contextmanager
def _executor(name: ExecutorName, jobs: int) -> "Iterator[Executor]":
    from scenarios.simulated.executors import in_this_process, processes, ray_cluster

    if name is ExecutorName.RAY:
        with ray_cluster() as executor:
            yield executor
    elif jobs == 1:
        yield in_this_process
    else:
        with processes(jobs) as executor:
            yield executor


def _keep(row: "Row", out: Path | None, *, as_json: bool) -> None:
    import msgspec

    line = msgspec.json.encode(row)
    if as_json:
        print(line.decode(), flush=True)
    if out is not None:
        with out.open("ab") as file:
            file.write(line + b"\n")


def _print(tally: "Tally", rows: "list[Row]", told: "list[tuple[Row, Told]]", took_s: float, system: str) -> None:
    from rich.text import Text

    from scenarios.simulated.campaign import visited
    from scenarios.simulated.crash_points import NAME as CRASH_POINTS

    terminal = console()
    terminal.print()
    if tally.coverage:
        table, letters = _coverage(tally)
        terminal.print(table)
        terminal.print(letters, style="dim")
    terminal.print(
        f"{tally.worlds} worlds, {tally.tasks} tasks, {tally.faults} faults in {took_s:.1f} s: "
        f"{tally.worlds / took_s:.0f} worlds and {tally.tasks / took_s:.0f} tasks a second, "
        f"{tally.virtual_s / took_s:.0f} times faster than time"
    )
    if any(row.series == CRASH_POINTS for row in rows):
        seen, points = visited(system, rows)
        terminal.print(f"crash points of the small workload: {seen} of {points} visited, one crash each")
    if tally.checked:
        terminal.print(
            f"run again in another process: {tally.checked} worlds, {len(tally.differing)} came out otherwise"
        )
    for why, count in tally.gone.most_common():
        terminal.print(Text(f"processes that ended by themselves: {count}: {why}", style="dim"))
    for row in (*tally.broken, *tally.unknown):
        what = f"broken: {', '.join(row.broken)}" if row.broken else f"unknown: {'; '.join(row.problems)}"
        terminal.print(Text(f"{row.series}, seed {row.seed}: {what}", style=STYLE_OF_EXIT[row.exit_code]))
        terminal.print(Text(f"  tasklab replay {row.token}"))
    for row, shrunk in told:
        terminal.print(
            Text(f"\n{shrunk.promise.value}, shrunk from {row.token} in {shrunk.tries} tries:", style="bold")
        )
        print_story(shrunk.turns)
        print(f"  tasklab replay {shrunk.token}")
    terminal.print(Text(_verdict(tally), style=STYLE_OF_EXIT[tally.exit_code]))


def _verdict(tally: "Tally") -> str:
    if tally.exit_code == EXIT_HELD:
        return f"every claimed promise held in every world; alarms: {tally.silence}"
    if tally.broken:
        return f"a claimed promise is broken in {len(tally.broken)} of {tally.worlds} worlds"
    return "unknown: some worlds could not be judged, or did not come out the same again"


def _short(count: int) -> str:
    """In at most four characters."""
    if count == 0:
        return "–"
    return str(count) if count < 10_000 else f"{count // 1000}k"


def _coverage(tally: "Tally") -> "tuple[Table, str]":
    """The table, with a letter for each fault, and what the letters mean."""
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

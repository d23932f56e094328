"""`tasklab simulate`: a system's own code in thousands of simulated worlds, each judged; what breaks is shrunk and told."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tasklab.ending import EXIT_INTERRUPTED, explained
from tasklab.module_path import let_plugins_in
from tasklab.presentation.campaign_line import shown
from tasklab.presentation.campaign_summary import print_summary
from tasklab.presentation.streams import reader_has_gone
from tasklab.presentation.terminal import Progress
from tasklab.running.places import file_for_rows

if TYPE_CHECKING:
    from scenarios.simulated.search.campaign import Visited
    from scenarios.simulated.search.executors import Executor
    from scenarios.simulated.search.explore import Row

ALARMS_MAX = 5
"""A campaign ends after this number of alarms."""


class ExecutorName(StrEnum):
    """Where the worlds run."""

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
    merge: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Run nothing: sum up what --out wrote, of all shards; once for each file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON line for each world on standard output.")] = False,
) -> None:
    """Run a system's own code in simulated worlds, one a seed, and judge each: exit code 0 only if every promise held in all.

    Ends early after a few alarms. Each is printed as a line that repeats it in any process on any machine; the first of each promise
    is shrunk to a world as small as can be, and told step by step.

    Example: tasklab simulate swarm --seeds 1..10000 --jobs 2
    """
    if merge:
        _sum_up(merge, as_json=as_json)
    with explained():
        from scenarios.simulated.search.campaign import check, explore, seeds_of, tell_alarms
        from scenarios.simulated.search.explore import explorer_of, works_of
        from scenarios.simulated.search.tally import Tally
        from scenarios.simulated.worlds.series import series_names

        let_plugins_in()
        say = Progress()
        if out is not None:
            file_for_rows(out)
        names = scenarios or series_names()
        for name in names:
            explorer_of(system).series(name)  # an unknown name is wrong usage, now and not in some worker
        began_s = time.monotonic()
        numbers = seeds_of(seeds, shard, until_s=None if minutes is None else began_s + 60 * minutes)
        tally = Tally()
        rows: list[Row] = []
        interrupted = False
        try:
            with ExitStack() as stack:
                run = stack.enter_context(_executor(executor, jobs))
                show = stack.enter_context(shown(tally, say))
                for row in explore(run, system, works_of(names, numbers), tally):
                    rows.append(row)
                    _keep(row, out, as_json=as_json)
                    show()
                    if reader_has_gone():
                        raise KeyboardInterrupt
                    if len(tally.broken) + len(tally.unknown) >= ALARMS_MAX:
                        break
            took_s = time.monotonic() - began_s
            check(system, [row for row in rows if row.digest is not None], tally)
            told = tell_alarms(tally, say)
        except KeyboardInterrupt:
            say("interrupted; this is what was found by then")
            took_s, told, interrupted = time.monotonic() - began_s, [], True
    if not as_json:
        print_summary(tally, _visited(system, rows), told, took_s=took_s, interrupted=interrupted)
    raise typer.Exit(tally.exit_code if tally.broken or not interrupted else EXIT_INTERRUPTED)


def _sum_up(files: list[Path], *, as_json: bool) -> NoReturn:
    """The rows of several campaigns as if they had been one; each world counts once."""
    with explained():
        from scenarios.simulated.search.campaign import read_rows
        from scenarios.simulated.search.tally import Tally

        rows = read_rows(files)
        tally = Tally()
        for row in rows:
            tally.add(row)
            if as_json:
                _keep(row, None, as_json=True)
        if not as_json:
            print_summary(tally, _visited(rows[0].system, rows) if rows else None, [])
    raise typer.Exit(tally.exit_code)


def _visited(system: str, rows: "list[Row]") -> "Visited | None":
    from scenarios.simulated.search.campaign import visited
    from scenarios.simulated.worlds.crash_points import NAME as CRASH_POINTS

    return visited(system, rows) if any(row.series == CRASH_POINTS for row in rows) else None


@contextmanager
def _executor(name: ExecutorName, jobs: int) -> "Iterator[Executor]":
    from scenarios.simulated.search.executors import in_this_process, processes, ray_cluster

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

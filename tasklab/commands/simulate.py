"""`tasklab simulate`: a system's own code in thousands of simulated worlds, each judged; an alarm is shrunk and told."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tasklab.exit_codes import EXIT_INTERRUPTED, explained
from tasklab.module_path import append_current_directory
from tasklab.presentation.campaign_line import shown
from tasklab.presentation.campaign_summary import print_summary
from tasklab.presentation.streams import reader_has_gone
from tasklab.presentation.terminal import Progress, print_json_line
from tasklab.running.places import append_line, file_for_rows

if TYPE_CHECKING:
    from scenarios.simulated.search.campaign import Visited
    from scenarios.simulated.search.executors import Executor
    from scenarios.simulated.search.explore import Row, Work
    from scenarios.simulated.search.hunt import ShrunkCatch
    from scenarios.simulated.search.tally import Tally

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
            help="swarm, crash_points, or names from `tasklab list scenarios`. Default: all.",
        ),
    ] = None,
    system: Annotated[
        str, typer.Option(help="A name from `tasklab list systems`, or package.module:attribute of your own plug-in.")
    ] = "reference",
    seeds: Annotated[
        str, typer.Option(metavar="A..B", help="Seeds, both ends included: one world for each seed and scenario.")
    ] = "1..1000",
    without: Annotated[
        str, typer.Option(metavar="NET", help="One safety net is off: sweep, redelivery, fence, cache or lock.")
    ] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes on this machine.")] = os.cpu_count() or 1,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="Continue with the seeds after B until this time has passed.")
    ] = None,
    shard: Annotated[
        str, typer.Option(metavar="K/N", help="Only every N-th seed, from the K-th: for N machines.")
    ] = "1/1",
    executor: Annotated[
        ExecutorName, typer.Option(help="local: processes of this machine; ray: the workers of a Ray cluster.")
    ] = ExecutorName.LOCAL,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Append a JSON line for each world to this file; such files can be concatenated."
        ),
    ] = None,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Run no world: sum up files that --out wrote, of all shards. Once for each file."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON line for each world on standard output.")] = False,
) -> None:
    """Run a system's own code in simulated worlds, one for each seed, and judge each: exit code 0 only if every promise held in all.

    Ends early after a few alarms. Each alarm is printed with the command that repeats it on any machine; the first alarm of each
    promise is shrunk to a world as small as possible and told step by step.

    Example: tasklab simulate swarm --seeds 1..10000 --jobs 2
    """
    if merge:
        _sum_up(merge, system, as_json=as_json)
    with explained():
        from scenarios.simulated.search.campaign import seeds_of
        from scenarios.simulated.search.explore import explorer_of, works_of
        from scenarios.simulated.worlds.series import name_without, series_names

        append_current_directory()
        if out is not None:
            file_for_rows(out)
        explorer = explorer_of(system)
        names = [name_without(name, without) for name in scenarios or series_names(explorer.simulation.terms)]
        for name in names:
            explorer.series(name)  # an unknown name is wrong usage here, not later in a worker
        until_s = None if minutes is None else time.monotonic() + 60 * minutes
        works = works_of(names, seeds_of(seeds, shard, until_s=until_s))
        done = _carry_out(system, works, _executor(executor, jobs), lambda row: _keep(row, out, as_json=as_json))
    if not as_json:
        visits = _visited(system, done.rows)
        print_summary(done.tally, visits, done.told, took_s=done.took_s, interrupted=done.interrupted)
    is_decided = bool(done.tally.broken) or not done.interrupted
    raise typer.Exit(done.tally.exit_code if is_decided else EXIT_INTERRUPTED)


@dataclass(frozen=True, slots=True)
class _Campaign:
    """A finished campaign; `took_s`: duration of its worlds."""

    tally: "Tally"
    rows: "list[Row]"
    told: "list[tuple[Row, ShrunkCatch]]"
    took_s: float
    interrupted: bool


def _carry_out(
    system: str,
    works: "Iterator[Work]",
    executor: "AbstractContextManager[Executor]",
    keep: "Callable[[Row], None]",
) -> _Campaign:
    """Run the worlds until none is left or there are too many alarms; repeat some to compare; shrink and tell the alarms."""
    from scenarios.simulated.search.campaign import check, explore, tell_alarms
    from scenarios.simulated.search.tally import Tally

    say, tally = Progress(), Tally()
    rows: list[Row] = []
    began_s = time.monotonic()
    try:
        with executor as run, shown(tally, say) as show:
            for row in explore(run, system, works, tally):
                rows.append(row)
                keep(row)
                show()
                if reader_has_gone():
                    raise KeyboardInterrupt
                if len(tally.broken) + len(tally.unknown) >= ALARMS_MAX:
                    break
        took_s = time.monotonic() - began_s
        check(system, [row for row in rows if row.digest is not None], tally)
        return _Campaign(tally, rows, tell_alarms(tally, say), took_s, interrupted=False)
    except KeyboardInterrupt:
        say("interrupted; the summary covers the worlds up to now")
        return _Campaign(tally, rows, [], time.monotonic() - began_s, interrupted=True)


def _sum_up(files: list[Path], system: str, *, as_json: bool) -> NoReturn:
    """Sum up the rows of several campaigns; each world counts once. Of the systems named in rows only a trusted one is imported."""
    with explained():
        from scenarios.lookup import is_registered
        from scenarios.simulated.search.campaign import read_rows
        from scenarios.simulated.search.tally import Tally

        rows = read_rows(files)
        tally = Tally()
        for row in rows:
            tally.add(row)
            if as_json:
                _keep(row, None, as_json=True)
        if not as_json:
            is_trusted = bool(rows) and (rows[0].system == system or is_registered(rows[0].system))
            print_summary(tally, _visited(rows[0].system, rows) if is_trusted else None, [])
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
        print_json_line(line)
    if out is not None:
        append_line(out, line)

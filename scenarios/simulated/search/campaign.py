"""A campaign: which worlds are run, for how long, how they are checked; and its alarms, shrunk and told as stories."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scenarios.errors import NotARange, NotRows
from scenarios.judging.guarantees import Guarantee
from scenarios.simulated.run import simulate
from scenarios.simulated.search.executors import Executor, processes
from scenarios.simulated.search.explore import Row, Work, explorer_of
from scenarios.simulated.search.hunt import ShrunkCatch, shrink_and_tell
from scenarios.simulated.search.tally import Tally
from scenarios.simulated.worlds.crash_points import NAME as CRASH_POINTS
from scenarios.simulated.worlds.crash_points import CrashPoints

OTHER_HASH_SEED = "1"
TOLD_MAX = 3
SHRINK_S = 20.0


@dataclass(frozen=True, slots=True)
class Visited:
    """Crash points of the small workload: their number, how many were struck `alone`, and how many `pairs` were struck."""

    points: int
    alone: int
    pairs: int


def seeds_of(text: str, shard: str, *, until_s: float | None) -> Iterator[int]:
    """The seeds of `A..B` in this shard `K/N`; with `until_s` (on the monotonic clock) without an upper end until then.

    Raises:
        NotARange: the range or the shard is invalid.
    """
    first, last = _pair(text, r"(\d+)\.\.(\d+)", "A..B, such as 1..1000")
    mine, shards = _pair(shard, r"(\d+)/(\d+)", "K/N, such as 2/8")
    if last < first:
        raise NotARange(text, "A..B, with B not less than A")
    if not 1 <= mine <= shards:
        raise NotARange(shard, "K/N, with K from 1 to N")
    return _count(first + mine - 1, last, shards, until_s)


def _count(first: int, last: int, step: int, until_s: float | None) -> Iterator[int]:
    seed = first
    while seed <= last or until_s is not None:
        if until_s is not None and time.monotonic() > until_s:
            return
        yield seed
        seed += step


def _pair(text: str, form: str, words: str) -> tuple[int, int]:
    match = re.fullmatch(form, text)
    if match is None:
        raise NotARange(text, words)
    return int(match.group(1)), int(match.group(2))


def explore(executor: Executor, system_name: str, works: Iterator[Work], tally: Tally) -> Iterator[Row]:
    """Every row as it comes, counted in the tally. Ending the iteration stops the campaign."""
    for row in executor(system_name, works):
        tally.add(row)
        yield row


def check(system_name: str, rows: Sequence[Row], tally: Tally) -> None:
    """Repeat the worlds of these rows, which have digests, in a process with another hash seed, and compare."""
    first = {(row.series, row.seed): row for row in rows}
    with processes(1, hash_seed=OTHER_HASH_SEED) as executor:
        for second in executor(system_name, (Work(row.series, row.seed, with_digest=True) for row in rows)):
            tally.check(first[second.series, second.seed], second)


def visited(system_name: str, rows: Iterable[Row]) -> Visited:
    """The crash points of this system that these rows have really struck."""
    points = len(CrashPoints(explorer_of(system_name).simulation).points)
    crashed = {row.seed: row.faults for row in rows if row.series == CRASH_POINTS}
    return Visited(
        points=points,
        alone=sum(seed <= points and struck == 1 for seed, struck in crashed.items()),
        pairs=sum(seed > points and struck == 2 for seed, struck in crashed.items()),
    )


def read_rows(files: Iterable[Path]) -> list[Row]:
    """The rows in the files of campaigns, each world once.

    Raises:
        NotRows: a file does not hold rows, or the files hold rows of more than one system.
    """
    rows: dict[tuple[str, int], Row] = {}
    for file in files:
        try:
            found = [msgspec.json.decode(line, type=Row) for line in file.read_bytes().splitlines()]
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise NotRows(file, str(error)) from error
        rows.update({(row.series, row.seed): row for row in found})
        systems = {row.system for row in rows.values()}
        if len(systems) > 1:
            raise NotRows(file, f"rows of more than one system: {', '.join(sorted(systems))}")
    return list(rows.values())


def tell_alarms(tally: Tally, say: Callable[[str], None]) -> list[tuple[Row, ShrunkCatch]]:
    """The first alarm of each promise, shrunk and told; for at most `TOLD_MAX` promises, each with a time limit."""
    told: list[tuple[Row, ShrunkCatch]] = []
    for row in tally.broken:
        promise = next(one for one in Guarantee if one.value == row.broken[0])
        if len(told) == TOLD_MAX or any(promise is other.promise for _, other in told):
            continue
        say(f"shrinking {row.token}")
        explorer = explorer_of(row.system)
        world = simulate(explorer.series(row.series)(row.seed), explorer.simulation)
        until_s = time.monotonic() + SHRINK_S
        told.append(
            (
                row,
                shrink_and_tell(
                    world,
                    explorer.simulation,
                    row.system,
                    promise,
                    is_over=lambda until_s=until_s: time.monotonic() > until_s,  # type: ignore[misc]
                ),
            )
        )
    return told

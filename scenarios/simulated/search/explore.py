"""Runs worlds, each with one JSON row as its result; rows of several machines are merged by concatenation."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import msgspec

from scenarios.judging.verdict import Ruling
from scenarios.lookup import find_system
from scenarios.simulated.run import Simulated, simulate
from scenarios.simulated.search.token import Token
from scenarios.simulated.system import simulation_of
from scenarios.simulated.worlds.series import Series, find_series

CHECKED_SHARE = 100
"""One in so many worlds is repeated in another process with another hash seed, and must give the same result."""


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of one world. `token` repeats it; `digest`: if requested; `coverage` by "fault | phase".

    `faults`: number that bit. `held`: the claimed promises that held and were put to the test; `untested`: those that held
    without a test. `delays`: the kind of its delays (scenarios.simulated.worlds.plan.DelayPlan), which order its steps.
    """

    series: str
    system: str
    seed: int
    exit_code: int
    token: str
    broken: list[str] = []
    held: list[str] = []
    untested: list[str] = []
    problems: list[str] = []
    gone: list[str] = []
    faults: int = 0
    steps: int = 0
    tasks: int = 0
    virtual_s: float = 0.0
    delays: str = ""
    digest: str | None = None
    coverage: dict[str, int] = {}


class Work(msgspec.Struct, frozen=True):
    """One world to run; `with_digest`: for comparison with another run of it."""

    series: str
    seed: int
    with_digest: bool = False


class Explorer:
    """Runs worlds of one system in this process."""

    def __init__(self, system_name: str) -> None:
        self.simulation = simulation_of(find_system(system_name))
        self._system_name = system_name
        self._series: dict[str, Series] = {}

    def run(self, work: Work) -> Row:
        """Run and judge the world."""
        return row_of(simulate(self.series(work.series)(work.seed), self.simulation), work, self._system_name)

    def series(self, name: str) -> Series:
        """The series of that name, cached; raises UnknownName."""
        if name not in self._series:
            self._series[name] = find_series(name, self.simulation)
        return self._series[name]


@cache
def explorer_of(system_name: str) -> Explorer:
    """The explorer of this system in this process, cached.

    Raises:
        UnknownName: there is no such system.
        NotApplicable: it provides no simulation.
    """
    return Explorer(system_name)


def run_works(system_name: str, works: Sequence[Work]) -> list[Row]:
    """Run some worlds in this process; executors call it in their workers."""
    explorer = explorer_of(system_name)
    return [explorer.run(work) for work in works]


def row_of(world: Simulated, work: Work, system_name: str) -> Row:
    """The row of a world."""
    judgement = world.judgement
    unknown = [f"{one.guarantee}: {one.reason}" for one in judgement.verdicts if one.ruling is Ruling.UNKNOWN]
    held = [verdict for verdict in judgement.verdicts if verdict.ruling is Ruling.HELD]
    return Row(
        series=work.series,
        system=system_name,
        seed=work.seed,
        exit_code=judgement.exit_code,
        token=str(Token(work.series, system_name, work.seed)),
        broken=[verdict.guarantee.value for verdict in judgement.verdicts if verdict.ruling is Ruling.BROKEN],
        held=[verdict.guarantee.value for verdict in held if verdict.exercised],
        untested=[verdict.guarantee.value for verdict in held if not verdict.exercised],
        problems=[*judgement.problems, *unknown[:1]],
        gone=list(world.gone),
        faults=sum(strike.bit_ns is not None for strike in world.strikes),
        steps=world.steps,
        tasks=len(world.plan.tasks),
        virtual_s=round(world.virtual_s, 3),
        delays=world.plan.delays.kind,
        digest=world.digest() if work.with_digest else None,
        coverage={" | ".join(place): count for place, count in sorted(world.coverage.counts.items())},
    )


def works_of(series: Sequence[str], seeds: Iterable[int]) -> Iterator[Work]:
    """Every seed of every series; every hundredth seed with a digest."""
    for seed in seeds:
        for name in series:
            yield Work(name, seed, with_digest=seed % CHECKED_SHARE == 0)

"""Several runs at a glance: scenario × system, each cell leading to its runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.reading import Run
from reports.ruling import Overall, named
from reports.wording import count
from scenarios.judging.verdict import Ruling


@dataclass(frozen=True, slots=True)
class Entry:
    """One run in a cell; `which` tells it from the others, `why` names the broken promises, or says why nothing could be told."""

    anchor: str
    which: str
    ruling: Ruling
    why: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """`cells[scenario][system]` are the runs of that pair, in the order given; `totals` is one sentence a system."""

    systems: tuple[str, ...]
    cells: dict[str, dict[str, tuple[Entry, ...]]]
    totals: tuple[str, ...]


def matrix_of(runs: Sequence[tuple[str, Run, Overall]]) -> Matrix:
    """The matrix of runs given as (anchor, run, overall ruling); scenarios and systems in the order they first appear."""
    systems = tuple(dict.fromkeys(run.facts.system for _, run, _ in runs))
    scenarios = tuple(dict.fromkeys(run.facts.scenario for _, run, _ in runs))
    cells: dict[str, dict[str, list[Entry]]] = {scenario: {system: [] for system in systems} for scenario in scenarios}
    for anchor, run, said in runs:
        verdicts = run.judgement.verdicts if run.judgement else {}
        why = said.sentence if said.ruling is Ruling.UNKNOWN else ", ".join(named(verdicts, Ruling.BROKEN))
        which = f"{run.facts.environment}, seed {run.facts.seed}"
        entry = Entry(anchor, which, said.ruling, why)
        cells[run.facts.scenario][run.facts.system].append(entry)
    return Matrix(
        systems=systems,
        cells={
            scenario: {system: tuple(entries) for system, entries in row.items()} for scenario, row in cells.items()
        },
        totals=tuple(
            _total(system, [said for _, run, said in runs if run.facts.system == system]) for system in systems
        ),
    )


def _total(system: str, said: Sequence[Overall]) -> str:
    """`naive: 5 of 7 runs broke a promise, 1 unknown.`"""
    tally = {ruling: sum(overall.ruling is ruling for overall in said) for ruling in Ruling}
    runs = count(len(said), "run")
    if tally[Ruling.HELD] == len(said):
        return f"{system}: every promise held in {runs}."
    parts = [
        f"{tally[Ruling.BROKEN]} of {runs} broke a promise" if tally[Ruling.BROKEN] else f"no promise broken in {runs}"
    ]
    if tally[Ruling.UNKNOWN]:
        parts.append(f"{tally[Ruling.UNKNOWN]} unknown")
    if tally[Ruling.HELD]:
        parts.append(f"{tally[Ruling.HELD]} held")
    return f"{system}: {', '.join(parts)}."

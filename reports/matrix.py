"""Several runs in one table: scenario × system; each cell links to its runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.reading import StoredRun
from reports.ruling import Overall, named
from reports.wording import count
from scenarios.judging.verdict import Ruling

WORST_FIRST = (Ruling.BROKEN, Ruling.UNKNOWN, Ruling.HELD)


@dataclass(frozen=True, slots=True)
class Entry:
    """One run in a cell. `which` distinguishes it from the others; `why`: the broken guarantees, or the reason for "unknown"."""

    anchor: str
    which: str
    ruling: Ruling
    why: str


@dataclass(frozen=True, slots=True)
class Inapplicable:
    """A scenario whose faults cannot be injected into a system, and the reason; there is no run directory."""

    scenario: str
    system: str
    why: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """`cells[scenario][system]`: the runs of that pair, in the order given; `totals`: one sentence per system.

    `empty[scenario][system]`: the text of a cell without a run.
    """

    systems: tuple[str, ...]
    cells: dict[str, dict[str, tuple[Entry, ...]]]
    empty: dict[str, dict[str, str]]
    totals: tuple[str, ...]

    def rate(self, scenario: str, system: str) -> str:
        """The number of runs of a cell with each ruling, such as `broken 3 of 5, held 2 of 5`; empty if the cell has fewer than two."""
        rulings = [entry.ruling for entry in self.cells[scenario][system]]
        if len(rulings) < 2:
            return ""
        counts = {ruling: rulings.count(ruling) for ruling in WORST_FIRST}
        return ", ".join(f"{ruling} {number} of {len(rulings)}" for ruling, number in counts.items() if number)


def matrix_of(runs: Sequence[tuple[str, StoredRun, Overall]], inapplicable: Sequence[Inapplicable] = ()) -> Matrix:
    """The matrix of runs given as (anchor, run, overall ruling); scenarios and systems in the order they first appear."""
    systems = tuple(dict.fromkeys([*(run.facts.system for _, run, _ in runs), *(one.system for one in inapplicable)]))
    scenarios = tuple(
        dict.fromkeys([*(run.facts.scenario for _, run, _ in runs), *(one.scenario for one in inapplicable)])
    )
    reasons = {(one.scenario, one.system): f"not applicable: {one.why}" for one in inapplicable}
    cells: dict[str, dict[str, list[Entry]]] = {scenario: {system: [] for system in systems} for scenario in scenarios}
    for anchor, run, ruled in runs:
        verdicts = run.judgement.verdicts if run.judgement else {}
        why = ruled.sentence if ruled.ruling is Ruling.UNKNOWN else ", ".join(named(verdicts, Ruling.BROKEN))
        which = f"{run.facts.environment}, seed {run.facts.seed}"
        entry = Entry(anchor, which, ruled.ruling, why)
        cells[run.facts.scenario][run.facts.system].append(entry)
    return Matrix(
        systems=systems,
        cells={
            scenario: {system: tuple(entries) for system, entries in row.items()} for scenario, row in cells.items()
        },
        empty={
            scenario: {system: reasons.get((scenario, system), "not run") for system in systems}
            for scenario in scenarios
        },
        totals=tuple(
            _total(system, [ruled for _, run, ruled in runs if run.facts.system == system]) for system in systems
        ),
    )


def _total(system: str, ruled: Sequence[Overall]) -> str:
    """`naive: a guarantee was broken in 5 of 7 runs, 1 unknown.`"""
    tally = {ruling: sum(overall.ruling is ruling for overall in ruled) for ruling in Ruling}
    runs = count(len(ruled), "run")
    if tally[Ruling.HELD] == len(ruled):
        return f"{system}: every guarantee held in {runs}."
    parts = [
        f"a guarantee was broken in {tally[Ruling.BROKEN]} of {runs}"
        if tally[Ruling.BROKEN]
        else f"no guarantee broken in {runs}"
    ]
    if tally[Ruling.UNKNOWN]:
        parts.append(f"{tally[Ruling.UNKNOWN]} unknown")
    if tally[Ruling.HELD]:
        parts.append(f"{tally[Ruling.HELD]} held")
    return f"{system}: {', '.join(parts)}."

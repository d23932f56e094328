"""The totals of many worlds: how many held, what they covered, and the statistical bound that follows."""

from collections import Counter
from dataclasses import dataclass, field

from scenarios.judging.judge import bound
from scenarios.judging.verdict import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN
from scenarios.simulated.search.explore import Row


@dataclass(slots=True)
class Tally:
    """Totals of rows. `differing`: tokens of worlds with another result when repeated.

    `faults`: number that bit; `calm`: worlds in which none did. `tested`: by promise, the worlds in which it was put to the test
    and held, 0 if it was only claimed; `without_details`: rows of an earlier version, without this field.
    """

    worlds: int = 0
    tasks: int = 0
    faults: int = 0
    calm: int = 0
    without_details: int = 0
    virtual_s: float = 0.0
    broken: list[Row] = field(default_factory=list)
    unknown: list[Row] = field(default_factory=list)
    tested: Counter[str] = field(default_factory=Counter)
    delays: Counter[str] = field(default_factory=Counter)
    gone: Counter[str] = field(default_factory=Counter)
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter)
    checked: int = 0
    differing: list[str] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Count a row."""
        self.worlds += 1
        self.tasks += row.tasks
        self.faults += row.faults
        self.calm += row.faults == 0
        self.virtual_s += row.virtual_s
        self.delays[row.delays] += 1
        if row.exit_code == EXIT_BROKEN:
            self.broken.append(row)
        elif row.exit_code != EXIT_HELD:
            self.unknown.append(row)
        self.without_details += row.exit_code == EXIT_HELD and not row.held
        self.tested.update({**dict.fromkeys(row.held, 1), **dict.fromkeys(row.untested, 0)})
        for why in row.gone:
            self.gone[why.partition(": ")[2]] += 1
        for place, count in row.coverage.items():
            fault, _, phase = place.partition(" | ")
            self.coverage[fault, phase] += count

    def check(self, first: Row, second: Row) -> None:
        """Compare two runs of the same world."""
        self.checked += 1
        if first.digest != second.digest:
            self.differing.append(first.token)

    @property
    def exit_code(self) -> int:
        """0 only if every world held, and every repetition gave the same result."""
        if self.broken:
            return EXIT_BROKEN
        return EXIT_UNKNOWN if self.unknown or self.differing or not self.worlds else EXIT_HELD

    @property
    def silence(self) -> str:
        """The statistical bound that follows from no alarm in this number of worlds; for each promise, see `seldom_tested`."""
        return bound(self.worlds)

    def seldom_tested(self) -> list[tuple[str, int]]:
        """The unbroken promises that not every world put to the test, with the number of worlds that did, fewest first."""
        broken = {promise for row in self.broken for promise in row.broken}
        told = self.worlds - self.without_details
        seldom = [(count, name) for name, count in self.tested.items() if count < told and name not in broken]
        return [(name, count) for count, name in sorted(seldom)]

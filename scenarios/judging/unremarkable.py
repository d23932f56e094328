"""Tasks with an unremarkable life (accepted, run, succeeded once): in large histories only counted; the checkers see the rest. Pure.

An unremarkable task was submitted once and acknowledged, started once and succeeded, had its effects once, and is listed as done or
not at all. scenarios/stored/large/prefilter.py separates them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.reconciliation import Reconciliation
from scenarios.judging.verdict import Findings


@dataclass(frozen=True, slots=True)
class Unremarkable:
    """The number of unremarkable tasks (not in the history), and their counts for the figures."""

    tasks: int = 0
    audited: int = 0
    rows: int = 0
    reads: int = 0
    read_final: int = 0
    reports: int = 0
    keyed: int = 0
    with_deadline: int = 0
    leases: int = 0
    fenced: int = 0
    results_read: int = 0
    with_result: int = 0
    listed: int = 0
    awaited: int = 0
    deadlines: int = 0

    def add_to(self, guarantee: Guarantee, found: Findings) -> Findings:
        """The findings of a checker, plus its counts for the unremarkable tasks."""
        if not self.tasks:
            return found
        exercised, figures = self._counted().get(guarantee, (0, {}))
        if not exercised and not figures:
            return found
        merged = dict(found.figures)
        for name, count in figures.items():
            merged[name] = max(merged.get(name, 0), count) if name.endswith("_most") else merged.get(name, 0) + count
        return Findings(found.violations, found.exercised + exercised, found.undecided, merged)

    def _counted(self) -> Mapping[Guarantee, tuple[int, Mapping[str, float]]]:
        n = self.tasks
        return {
            Guarantee.NO_LOST_TASK: (n, {"acknowledged": n}),
            Guarantee.NO_STUCK_TASK: (n, {"acknowledged": n}),
            Guarantee.NO_PHANTOM_TASK: (n, {"ran": n}),
            Guarantee.EXACTLY_ONE_EFFECT: (n, {"done_or_with_effects": n}),
            Guarantee.EFFECT_AT_MOST_ONCE: (n, {"tasks_with_effects": n}),
            Guarantee.LEGAL_TRANSITIONS: (self.audited, {"rows": self.rows}),
            Guarantee.POISON_BOUNDED: (0, {"starts_most": min(n, 1)}),
            Guarantee.SINGLE_HOLDER: (0, {"acquisitions": self.leases}),
            Guarantee.FENCED_WRITES: (0, {"fenced": self.fenced}),
            Guarantee.PROGRESS_MONOTONIC: (0, {"reports": self.reports}),
            Guarantee.STATUS_TRUTHFUL: (self.read_final, {"reads": self.reads}),
            Guarantee.OUTBOX_ATOMIC: (self.audited, {"rows": self.audited} if self.audited else {}),
            Guarantee.IDEMPOTENT_SUBMISSION: (0, {"keys": self.keyed}),
            Guarantee.OUTCOME_REPORTED: (self._reported, {"ended": self._reported}),
            Guarantee.STARTS_IN_TIME: (self.awaited, {"awaited": self.awaited} if self.awaited else {}),
            Guarantee.RESULT_TRUTHFUL: (self.with_result, {"results_read": self.results_read}),
            Guarantee.NOT_DONE_AFTER_DEADLINE: (
                self.deadlines,
                {"with_deadline": self.deadlines} if self.deadlines else {},
            ),
            Guarantee.DEADLINE_HONOURED: (self.with_deadline, {"with_deadline": self.with_deadline}),
        }

    @property
    def _reported(self) -> int:
        """Those that the account lists as done or, where it lists none, that a client read as ended."""
        return max(self.listed, self.read_final)

    def add_to_reconciliation(self, reconciliation: Reconciliation) -> Reconciliation:
        """The account, with the unremarkable tasks counted as done."""
        counts = {**reconciliation.counts, "done": reconciliation.counts["done"] + self.tasks}
        return Reconciliation(
            reconciliation.submitted + self.tasks,
            counts,
            reconciliation.lost,
            reconciliation.stuck,
            reconciliation.strangers,
            reconciliation.contradiction,
        )


NONE = Unremarkable()

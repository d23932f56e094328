"""The opening of the demo: the reference in thousands of simulated worlds; then one planted defect, found, shrunk and told."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, worst
from tasklab.running.judged_run import Say
from tasklab.running.mutant_search import look_for

if TYPE_CHECKING:
    from scenarios.simulated.search.executors import Executor
    from scenarios.simulated.search.hunt import Finding, ShrunkCatch
    from scenarios.simulated.search.tally import Tally

WORLDS = 2000
SYSTEM = "reference"
DEFECT = "sent_before_confirm"
SEARCH_S = 60.0


@dataclass(frozen=True, slots=True)
class Opening:
    """The result of the opening; `took_s`: duration of the worlds of the healthy reference."""

    tally: "Tally"
    took_s: float
    defect: str
    finding: "Finding"
    told: "ShrunkCatch | None"

    @property
    def exit_code(self) -> int:
        """0 only if every world held and the planted defect was found."""
        return worst((self.tally.exit_code, EXIT_HELD if self.finding.found else EXIT_BROKEN))

    def to_json(self) -> dict[str, object]:
        """For `--json`."""
        tally = self.tally
        alarms = [f"tasklab replay {row.token}" for row in (*tally.broken, *tally.unknown)]
        return {"worlds": tally.worlds, "alarms": alarms, "seconds": round(self.took_s, 1), "mutant": self.finding}


Shown = Callable[["Tally", Say], AbstractContextManager[Callable[[], None]]]
"""Shows the progress of a tally each time the returned function is called."""


def open_with_simulator(seed: int, say: Say, shown: Shown) -> Opening:
    """Run both parts; the worlds are those of `WORLDS` seeds, from `seed` on."""
    from scenarios.simulated.search.explore import works_of
    from scenarios.simulated.search.tally import Tally
    from scenarios.simulated.worlds import swarm
    from scenarios.systems.mutant import find_mutant

    tally = Tally()
    say(f"simulated: the reference's own code in {WORLDS} worlds, each with its own faults, on a virtual clock")
    began_s = time.monotonic()
    with _executor() as run, shown(tally, say) as show:
        for row in run(SYSTEM, works_of([swarm.NAME], range(seed, seed + WORLDS))):
            tally.add(row)
            show()
    took_s = time.monotonic() - began_s
    mutant = find_mutant(DEFECT)
    say(f"simulated: the same with one defect planted: {mutant.defect}")
    finding, told = look_for(mutant, first_seed=seed, seconds=SEARCH_S)
    return Opening(tally, took_s, mutant.defect, finding, told)


@contextmanager
def _executor() -> "Iterator[Executor]":
    from scenarios.simulated.search.executors import in_this_process, processes

    jobs = os.cpu_count() or 1
    if jobs == 1:
        yield in_this_process
    else:
        with processes(jobs) as run:
            yield run

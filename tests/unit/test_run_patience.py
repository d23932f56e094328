"""How long a run waits for tasks of which nothing moves: workers may all be at work on the longest of them."""

from dataclasses import replace

from scenarios.contract.system import Submit
from scenarios.experiment.arrival import Arrival
from scenarios.experiment.run import StrikeTimeout, Timing
from scenarios.real.run import patient


def working(work_s: float) -> Arrival:
    return Arrival(0.0, Submit("A", {"task": "A", "work_s": work_s}, user="u", key="A"))


def test_a_run_waits_for_the_longest_work_of_its_plan() -> None:
    """Two workers of RQ with one slot each worked for 260 s, and six tasks were stuck after 135 s (run long_work-rq-3)."""
    timing = Timing(135.0, 290.0, StrikeTimeout(30.0), 1.0, unlisted_quiet_s=290.0)

    waiting = patient(timing, [working(0.02), working(260.0)])

    assert waiting == replace(timing, quiet_s=395.0, budget_s=550.0, unlisted_quiet_s=550.0)
    assert patient(timing, []) == timing

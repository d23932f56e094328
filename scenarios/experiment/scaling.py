"""Scales a scenario's faults to a load of another size: each strikes at the same share of the work. Pure."""

from dataclasses import replace

from scenarios.experiment.ranges import times
from scenarios.experiment.scenario import Scenario, Strike, Workload
from scenarios.judging.guarantees import Guarantee

NAME = "load"
PLAIN_STORY = "Tasks are submitted at a steady rate, independently of earlier answers; there is no fault."
AT_STAKE = (
    Guarantee.NO_LOST_TASK,
    Guarantee.NO_STUCK_TASK,
    Guarantee.EXACTLY_ONE_EFFECT,
    Guarantee.DUPLICATES_EXPLAINED,
)
COUNTS_TRAFFIC = frozenset({"nth"})
"""Fields of faults that count traffic of tasks: acknowledgements, publishes."""


def as_load(fault: Scenario | None, *, tasks: int, rate_per_s: float) -> Scenario:
    """A load of `tasks` at `rate_per_s`, with the strikes of `fault`, if any.

    Counts of tasks grow with the number of tasks, counts of periodic work (the leader's sweeps) with the duration of the load.
    The workload is empty: the load generator submits the tasks.
    """
    workload = Workload(tasks=0, rate_per_s=rate_per_s)
    if fault is None:
        return Scenario(NAME, PLAIN_STORY, workload, (), AT_STAKE)
    more_tasks = tasks / max(1, fault.workload.tasks)
    longer = more_tasks * fault.workload.rate_per_s / rate_per_s
    strikes = tuple(_scaled(strike, more_tasks, longer) for strike in fault.strikes)
    story = f"Under a steady load of {rate_per_s:g} tasks a second: {fault.story}"
    return Scenario(f"{NAME}_{fault.name}", story, workload, strikes, fault.at_stake, fault.premises)


def _scaled(strike: Strike, more_tasks: float, longer: float) -> Strike:
    drawn = {
        name: times(value, more_tasks) if name in COUNTS_TRAFFIC else value for name, value in strike.drawn.items()
    }
    return replace(strike, when=strike.when.scaled(more_tasks, longer), drawn=drawn)

"""The submissions of a load test and their instants, determined by a rate, a duration and a seed. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

TASKS_PER_USER = 10
"""Below any usual limit per user and minute: a load test measures throughput, not rate limits."""
WORK_LEAST_S, WORK_MOST_S = 0.001, 0.005
"""Duration of a task's work: short, so that the load test measures the system and not its handlers."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """`rate_per_s` tasks a second for `duration_s` seconds, evenly spaced."""

    rate_per_s: float
    duration_s: float
    seed: int

    @property
    def tasks(self) -> int:
        """Number of tasks; at least one."""
        return max(1, round(self.rate_per_s * self.duration_s))


@dataclass(frozen=True, slots=True)
class LoadTask:
    """A task and its due time, in seconds since the load began. The due time does not depend on earlier answers (open loop)."""

    at_s: float
    name: str
    user: str
    work_s: float


def arrivals(plan: LoadPlan) -> Iterator[LoadTask]:
    """The tasks in the order of their due times; equal for equal plans, on any machine."""
    chance = Random(f"{plan.seed}/load")
    for number in range(plan.tasks):
        yield LoadTask(
            at_s=number / plan.rate_per_s,
            name=f"load-{number + 1:05d}",
            user=f"load-user-{number // TASKS_PER_USER + 1}",
            work_s=round(chance.uniform(WORK_LEAST_S, WORK_MOST_S), 4),
        )

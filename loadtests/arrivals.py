"""What a load test submits, and when: from a rate, a duration and a seed, without any chance left. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

TASKS_PER_USER = 10
"""Well under any sensible limit per user and minute: a load test asks what the system carries, not whom it turns away."""
WORK_LEAST_S, WORK_MOST_S = 0.001, 0.005
"""How long a task works: little, so that what is measured is the system, not its handlers."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """`rate_per_s` tasks a second for `duration_s` seconds, evenly spaced."""

    rate_per_s: float
    duration_s: float
    seed: int

    @property
    def tasks(self) -> int:
        """How many tasks that makes; at least one."""
        return max(1, round(self.rate_per_s * self.duration_s))


@dataclass(frozen=True, slots=True)
class LoadTask:
    """A task and when it is due, in seconds since the load began: due whatever became of those before (open loop)."""

    at_s: float
    name: str
    user: str
    work_s: float


def arrivals(plan: LoadPlan) -> Iterator[LoadTask]:
    """The tasks in the order of their instants; the same for the same plan, on any machine."""
    chance = Random(f"{plan.seed}/load")
    for number in range(plan.tasks):
        yield LoadTask(
            at_s=number / plan.rate_per_s,
            name=f"load-{number + 1:05d}",
            user=f"load-user-{number // TASKS_PER_USER + 1}",
            work_s=round(chance.uniform(WORK_LEAST_S, WORK_MOST_S), 4),
        )

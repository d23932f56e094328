"""Every crash point of a small workload: each process is killed at every one of its calls, before and after the call takes effect."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from random import Random

from scenarios.simulated.run import simulate
from scenarios.simulated.system import Simulation, Sizes
from scenarios.simulated.worlds.plan import PlannedCallFault, PlannedTask, WorldPlan

NAME = "crash_points"
DOWN_S = 0.3
"""Time until a killed process is restarted."""

_PAYLOADS: Sequence[dict[str, object]] = (
    {"work_s": 0.02},
    {"work_s": 0.02, "outcomes": ["transient"]},
    {"work_s": 0.01, "outcomes": ["permanent"]},
)


def workload() -> WorldPlan:
    """The small workload, undisturbed: one task that succeeds, one that fails once, one that fails for good."""
    tasks = tuple(
        PlannedTask(0.03 * number, f"task-{number + 1}", {"task": f"task-{number + 1}", **payload}, tries=10)
        for number, payload in enumerate(_PAYLOADS)
    )
    return WorldPlan(NAME, seed=0, tasks=tasks, sizes=Sizes(workers=1, slots=2, rescuers=1), read_every_s=0.2)


class CrashPoints:
    """All crash points, numbered from 1: first each alone (k = 1), after that drawn pairs (k = 2)."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @cached_property
    def points(self) -> Sequence[PlannedCallFault]:
        """Every call of every fiber in the undisturbed world, each with its two sides."""
        return _points(simulate(workload(), self._simulation).calls, {})

    def world_of(self, number: int) -> WorldPlan:
        """The world of a crash point or, beyond the last, of a pair, whose second call comes after the first."""
        if number <= len(self.points):
            return self._with(number, self.points[number - 1])
        chance = Random(f"{number}/{NAME}")
        first = chance.choice(self.points)
        crashed = simulate(self._with(number, first), self._simulation)
        later = _points(crashed.calls, crashed.calls_at_first_fault)
        return self._with(number, first, *([chance.choice(later)] if later else []))

    def _with(self, number: int, *crashes: PlannedCallFault) -> WorldPlan:
        plan = workload()
        return WorldPlan(
            plan.scenario,
            seed=number,
            tasks=plan.tasks,
            sizes=plan.sizes,
            call_faults=crashes,
            read_every_s=plan.read_every_s,
            must_bite=True,
            forgets_queues=False,
        )


def _points(calls: Mapping[str, int], passed: Mapping[str, int]) -> list[PlannedCallFault]:
    return [
        PlannedCallFault(fiber, call, "kill", side, DOWN_S)
        for fiber, count in sorted(calls.items())
        for call in range(passed.get(fiber, 0) + 1, count + 1)
        for side in ("before", "after")
    ]

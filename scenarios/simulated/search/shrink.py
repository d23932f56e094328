"""Shrinks a world in which a promise breaks: fewer tasks, processes, faults and delays, with the same promise broken.

Every candidate is run as a whole world and judged.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise, product

import msgspec
from msgspec.structs import replace

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.verdict import Ruling
from scenarios.simulated.run import Simulated, simulate
from scenarios.simulated.system import Simulation, Sizes
from scenarios.simulated.worlds.plan import DelayPlan, PlannedCallFault, PlannedStrike, PlannedTask, WorldPlan

TRIES_MAX = 600
AIMS_MAX = 160
FEW_AIMS_MAX = 30
"""Maximum number of alternative fault positions to try per candidate. AIMS_MAX: for the minimal candidate, FEW_AIMS_MAX: for others."""


def broken_promises(world: Simulated) -> list[Guarantee]:
    """The claimed promises that the world broke."""
    return [verdict.guarantee for verdict in world.judgement.verdicts if verdict.ruling is Ruling.BROKEN]


@dataclass(slots=True)
class Shrunk:
    """The smallest world found, and the number of worlds tried."""

    world: Simulated
    tries: int


def shrink(
    plan: WorldPlan,
    simulation: Simulation,
    promise: Guarantee,
    *,
    tries_max: int = TRIES_MAX,
    is_over: Callable[[], bool] = lambda: False,
) -> Shrunk:
    """The smallest world found in which the promise still breaks; `is_over`: whether to stop with the best so far."""
    first = simulate(plan, simulation, keep_delays=True)
    assert promise in broken_promises(first), "the world to shrink breaks the promise"
    shrinker = _Shrinker(simulation, promise, first, tries_max, is_over)
    shrinker.run()
    return Shrunk(shrinker.best, shrinker.tries)


class _Enough(Exception):
    """No more tries."""


@dataclass(slots=True)
class _Shrinker:
    simulation: Simulation
    promise: Guarantee
    best: Simulated
    tries_max: int
    is_over: Callable[[], bool]
    tries: int = 0
    _tried: set[bytes] = field(default_factory=set)

    def run(self) -> None:
        try:
            self._state_delays()
            self._fewer_faults()
            self._smallest_at_once()
            while any([self._fewer_faults(), self._fewer_tasks(), self._fewer_processes(), self._plainer()]):
                pass
            self._fewer_delays()
        except _Enough:
            return

    @property
    def plan(self) -> WorldPlan:
        return self.best.plan

    def _try(self, plan: WorldPlan) -> bool:
        """Whether the promise breaks in that world too, which is then the best so far. No world is tried twice."""
        written = msgspec.json.encode(plan)
        if written in self._tried:
            return False
        if self.tries >= self.tries_max or self.is_over():
            raise _Enough
        self._tried.add(written)
        self.tries += 1
        world = simulate(plan, self.simulation)
        if self.promise not in broken_promises(world):
            return False
        self.best = world
        return True

    def _first_that_breaks(self, plans: Iterable[WorldPlan]) -> bool:
        return any(self._try(plan) for plan in plans)

    def _state_delays(self) -> None:
        """Replace drawn delays by none or, if that fails, by stated ones, which can be removed one by one."""
        stated = {fiber: dict(legs) for fiber, legs in (self.best.deviations or {}).items()}
        if not self._try(replace(self.plan, delays=DelayPlan())):
            self._try(replace(self.plan, delays=DelayPlan(stated=stated)))

    def _smallest_at_once(self) -> None:
        """Try one task and one process of each role: if the promise breaks there too, no step-by-step removal is needed."""
        for task in _by_size(self.plan.tasks):
            bare = replace(self.plan, tasks=(task,), sizes=Sizes(1, 1, 1, 1, 1), skews={})
            plans = [replace(bare, delays=DelayPlan()), bare] if bare.delays.stated else [bare]
            if any(self._try(plan) or self._re_aimed(plan, AIMS_MAX) for plan in plans):
                return

    def _re_aimed(self, plan: WorldPlan, aims_max: int = FEW_AIMS_MAX) -> bool:
        """Try the same world with its faults at other positions: in a smaller world the same moment has another number."""
        return self._first_that_breaks(islice(self._other_aims(plan), aims_max))

    def _other_aims(self, plan: WorldPlan) -> Iterator[WorldPlan]:
        faults = _faults(plan)
        undisturbed = simulate(_with_faults(plan, []), self.simulation)
        self.tries += 1
        for number, fault in enumerate(faults):
            for other in _elsewhere(fault, undisturbed):
                yield _with_faults(plan, [*faults[:number], other, *faults[number + 1 :]])

    def _fewer_faults(self) -> bool:
        changed = False
        for fault in list(_faults(self.plan)):
            left = [one for one in _faults(self.plan) if one is not fault]
            if len(left) < len(_faults(self.plan)) and self._try(_with_faults(self.plan, left)):
                changed = True
        return changed

    def _fewer_tasks(self) -> bool:
        changed = False
        for task in list(self.plan.tasks):
            left = tuple(one for one in self.plan.tasks if one.task != task.task)
            if left and len(left) < len(self.plan.tasks):
                plan = replace(self.plan, tasks=left)
                changed |= self._try(plan) or self._re_aimed(plan)
        return changed

    def _fewer_processes(self) -> bool:
        changed = False
        for role in ("slots", "workers", "relays", "rescuers", "apis"):
            for count in range(1, getattr(self.plan.sizes, role)):
                plan = replace(self.plan, sizes=replace(self.plan.sizes, **{role: count}))
                if self._try(plan) or self._re_aimed(plan):
                    changed = True
                    break
        return changed

    def _plainer(self) -> bool:
        changed = self._try_if_other(skews={}) | self._try_if_other(read_every_s=0.0)
        changed |= self._try_if_other(strays=())
        for number, task in enumerate(self.plan.tasks):
            for plainer in _plainer_tasks(task):
                tasks = (*self.plan.tasks[:number], plainer, *self.plan.tasks[number + 1 :])
                changed |= self._try_if_other(tasks=tasks)
        return changed

    def _try_if_other(self, **changes: object) -> bool:
        plan = replace(self.plan, **changes)
        return plan != self.plan and self._try(plan)

    def _fewer_delays(self) -> None:
        """Remove delays by fiber, then by halves, until only the necessary ones are left."""
        for fiber in list(self.plan.delays.stated):
            stated = {name: legs for name, legs in self.plan.delays.stated.items() if name != fiber}
            self._try(replace(self.plan, delays=DelayPlan(stated=stated)))
        share = 1
        while True:
            legs = [(fiber, leg) for fiber, some in self.plan.delays.stated.items() for leg in some]
            share = min(share * 2, len(legs))
            if not legs:
                return
            changed = False
            for part in range(share):
                dropped = set(legs[part::share])
                changed |= self._try(replace(self.plan, delays=DelayPlan(stated=_without(self.plan, dropped))))
            if share == len(legs) and not changed:
                return


Fault = PlannedStrike | PlannedCallFault


def _faults(plan: WorldPlan) -> list[Fault]:
    return [*plan.strikes, *plan.call_faults]


def _with_faults(plan: WorldPlan, faults: Sequence[Fault]) -> WorldPlan:
    return replace(
        plan,
        strikes=tuple(one for one in faults if isinstance(one, PlannedStrike)),
        call_faults=tuple(one for one in faults if isinstance(one, PlannedCallFault)),
    )


def _by_size(tasks: Sequence[PlannedTask]) -> list[PlannedTask]:
    return sorted(tasks, key=lambda task: (len(task.payload), task.twice, task.at_s))


def _elsewhere(fault: Fault, world: Simulated) -> Iterator[Fault]:
    """The same fault at every other possible moment of the world."""
    if isinstance(fault, PlannedCallFault):
        role = fault.fiber.partition("-")[0]
        for fiber, calls in sorted(world.calls.items()):
            if fiber.partition("-")[0] == role and "reader" not in fiber and "heartbeat" not in fiber:
                for call, side in product(range(1, calls + 1), (fault.side,)):
                    yield replace(fault, fiber=fiber, call=call, side=side)
    elif fault.at_s is not None:
        instants = sorted({step.at_ns for step in world.trace.steps if step.service != "redis"})
        for earlier, later in pairwise(instants):
            yield replace(fault, at_s=(earlier + later) / 2e9)
    elif "nth" in fault.trigger:
        for nth in range(1, 5):
            yield replace(fault, trigger={**fault.trigger, "nth": nth})
    elif "nth" in fault.aim:
        for nth, number in product(range(1, 4), (1, 2)):
            process = f"{str(fault.aim['process']).partition('-')[0]}-{number}"
            yield replace(fault, aim={**fault.aim, "nth": nth, "process": process})


_EXTRAS = ("steps", "reports", "result_size")


def _plainer_tasks(task: PlannedTask) -> Iterator[PlannedTask]:
    plain = {"task": task.task, "work_s": 0.0}
    yield PlannedTask(0.0, task.task, plain, user=task.user)
    yield replace(task, payload=plain)
    yield replace(task, at_s=0.0)
    yield replace(task, twice=False)
    yield replace(task, cancel_s=None, redriven=False)
    yield replace(task, deadline_s=None)
    yield replace(task, tries=1)
    yield replace(task, payload={**task.payload, "work_s": 0.0})
    yield replace(task, payload={name: value for name, value in task.payload.items() if name not in _EXTRAS})
    outcomes = task.payload.get("outcomes") or []
    for fewer in (outcomes[:-1], outcomes[: len(outcomes) // 2]):
        yield replace(task, payload={**task.payload, "outcomes": fewer})


def _without(plan: WorldPlan, dropped: set[tuple[str, int]]) -> dict[str, dict[int, int]]:
    left = {
        fiber: {leg: delay_ns for leg, delay_ns in legs.items() if (fiber, leg) not in dropped}
        for fiber, legs in plan.delays.stated.items()
    }
    return {fiber: legs for fiber, legs in left.items() if legs}

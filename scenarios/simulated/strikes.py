"""The nemesis in a simulated world: each strike waits for its trigger in a fiber, bites, lasts, is lifted, and says so in the history."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from chaos.faults import REACHED, Fault
from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Waiters
from chaos.simulation.world import World
from scenarios.experiment.nemesis import LOOK_S, describe
from scenarios.experiment.outside import Point
from scenarios.experiment.scenario import (
    ACKNOWLEDGED_WITHIN_S,
    AtStart,
    AttemptBegun,
    EffectAccepted,
    Effects,
    LeaderAtWork,
    PreviousBit,
)
from scenarios.record.run_facts import FaultRecord
from scenarios.simulated.coverage import PHASE_OF_POINT, Coverage
from scenarios.simulated.faults import CannotStrike, Injection, injection
from scenarios.simulated.outside import Gate, SimulatedOutside
from scenarios.simulated.record import EventList
from scenarios.simulated.worlds.plan import PlannedStrike, fault_of, trigger_of

_POINTS: Mapping[type, Point] = {AttemptBegun: "attempt", EffectAccepted: "effect", LeaderAtWork: "leader"}


class _Missed(Exception):
    """The moment of a strike never came, or the fault did not bite."""


@dataclass(slots=True)
class Course:
    """How one strike goes; `bitten` is woken when it has bitten, or is over."""

    planned: PlannedStrike
    fault: Fault
    gate: Gate | None
    bitten: Waiters
    injection: Injection | None = None
    target: str = "?"
    evidence: str = ""
    problem: str = ""
    begun_ns: int | None = None
    bit_ns: int | None = None
    ended_ns: int | None = None
    healed_ns: int | None = None
    is_over: bool = False

    def facts(self) -> FaultRecord:
        """For run.json."""
        return FaultRecord(
            fault=self.fault.name,
            target=self.target,
            when=when_words(self.planned),
            begun_ns=self.begun_ns,
            bit_ns=self.bit_ns,
            ended_ns=self.ended_ns,
            healed_ns=self.healed_ns,
            evidence=self.evidence,
            problem=self.problem,
        )


class Nemesis:
    """All strikes of a world. `give_up`: what has not come by now has missed; `over` is woken when the last one is over."""

    def __init__(
        self,
        world: World,
        outside: SimulatedOutside,
        events: EventList,
        coverage: Coverage,
        strikes: Sequence[PlannedStrike],
    ) -> None:
        self._world = world
        self._outside = outside
        self._events = events
        self._coverage = coverage
        self._given_up = False
        self.over: Waiters = []
        self.courses = [Course(strike, fault_of(strike), self._arm(strike), []) for strike in strikes]

    def start(self) -> None:
        """Every strike begins to wait for its moment."""
        for number in range(len(self.courses)):
            self._world.spawn(f"strike-{number + 1}", partial(self._run, number))

    def give_up(self) -> None:
        """Whatever still waits for its moment has missed it."""
        self._given_up = True
        for course in self.courses:
            self._world.scheduler.wake(course.bitten)
            if course.gate is not None:
                self._world.scheduler.wake(course.gate.reached)
            if course.injection is not None:
                self._world.scheduler.wake(course.injection.bitten)
        self._world.scheduler.wake(self._outside.counted)

    @property
    def is_over(self) -> bool:
        """Whether every strike is."""
        return all(course.is_over for course in self.courses)

    def holds_down(self, process: str) -> bool:
        """Whether a strike has killed it and is going to start it again."""
        return any(
            course.fault.ends_process
            and course.target == process
            and course.bit_ns is not None
            and course.ended_ns is None
            for course in self.courses
        )

    def _arm(self, strike: PlannedStrike) -> Gate | None:
        trigger = trigger_of(strike)
        point = _POINTS.get(type(trigger))
        return None if point is None else self._outside.arm(point, trigger.nth)  # type: ignore[union-attr, arg-type]

    def _run(self, number: int) -> None:
        course = self.courses[number]
        fault: Injection | None = None
        try:
            self._await_trigger(number, course)
            chance = Random(f"{self._world.seed}/strike-{number + 1}")
            fault = course.injection = injection(self._world, course.fault, chance)
            self._begin(course, fault)
            if course.gate is not None:
                self._outside.release(course.gate)
            self._last(number, course)
            self._lift(course, fault)
        except (_Missed, CannotStrike) as missed:
            course.problem = f"fault {course.fault.name} on {course.target} did not bite: {missed}"
        finally:
            if course.gate is not None:
                self._outside.release(course.gate)
            if fault is not None:
                fault.end()
            course.is_over = True
            self._world.scheduler.wake(course.bitten)
            self._world.scheduler.wake(self.over)

    def _await_trigger(self, number: int, course: Course) -> None:
        world, trigger = self._world, trigger_of(course.planned)
        if trigger is None:
            world.scheduler.rest(ns(course.planned.at_s or 0.0))
        elif course.gate is not None:
            gate = course.gate
            self._await(lambda: gate.is_reached, gate.reached, course)
            course.fault = _aimed(course.fault, gate.actor)
        elif isinstance(trigger, Effects):
            count = int(trigger.count)  # type: ignore[arg-type]
            self._await(lambda: self._outside.count("effect") >= count, self._outside.counted, course)
        elif isinstance(trigger, PreviousBit):
            before = self.courses[number - 1]
            self._await(lambda: before.bit_ns is not None or before.is_over, before.bitten, course)
            if before.bit_ns is None:
                raise _Missed("the strike before it did not bite")
            count = self._acknowledged() + trigger.acknowledged
            world.scheduler.rest(ns(float(trigger.wait_s)))  # type: ignore[arg-type]
            self._await_acknowledged(count)
        else:
            assert isinstance(trigger, AtStart), trigger

    def _await(self, has_come: Callable[[], bool], news: Waiters, course: Course) -> None:
        while not has_come():
            if self._given_up:
                raise _Missed(f"its moment never came: {when_words(course.planned)}")
            self._world.scheduler.wait(news)

    def _acknowledged(self) -> int:
        return sum(event.event == "submit.ok" for event in self._events.events)

    def _await_acknowledged(self, count: int) -> None:
        """As scenarios.experiment.nemesis: bounded."""
        for _ in range(round(ACKNOWLEDGED_WITHIN_S / LOOK_S)):
            if self._given_up or self._acknowledged() >= count:
                return
            self._world.scheduler.rest(ns(LOOK_S))

    def _begin(self, course: Course, fault: Injection) -> None:
        """Its span begins when it does, or, if it lies in wait, when it bites: what comes before is no fault."""
        course.target = fault.target
        if not fault.is_possible():
            raise _Missed("there is nothing left to strike")
        stages: Sequence[str] = ()
        if fault.lies_in_wait:
            fault.begin()
            while not fault.evidence():
                if self._given_up:
                    raise _Missed("the traffic it waited for never came")
                self._world.scheduler.wait(fault.bitten)
                stages = self._coverage.stages(self._world, course.target)
        names = {"fault": course.fault.name, "target": fault.target}
        course.begun_ns = self._world.now_ns
        self._events.record("fault.begin", actor="lab", **names)
        if not fault.lies_in_wait:
            stages = self._coverage.stages(self._world, course.target)
            if course.gate is not None and course.gate.point in PHASE_OF_POINT:
                stages = [*stages, PHASE_OF_POINT[course.gate.point]]
            fault.begin()
        self._coverage.add(names["fault"], stages)
        course.evidence = fault.evidence()
        course.bit_ns = self._world.now_ns
        if course.fault.ends_process:
            self._events.record("crash", actor=fault.target)
        self._events.record("fault.bit", actor="lab", **names, detail=course.evidence)
        self._world.scheduler.wake(course.bitten)

    def _last(self, number: int, course: Course) -> None:
        if course.planned.lasts_s is not None:
            self._world.scheduler.rest(ns(course.planned.lasts_s))
            return
        if number + 1 == len(self.courses):
            return  # what it was to wait for has been shrunk away
        following = self.courses[number + 1]
        while following.bit_ns is None and not following.is_over:
            self._world.scheduler.wait(following.bitten)

    def _lift(self, course: Course, fault: Injection) -> None:
        names = {"fault": course.fault.name, "target": course.target}
        self._events.record("fault.end", actor="lab", **names)
        course.ended_ns = self._world.now_ns
        if course.fault.ends_process:
            self._events.record("restart", actor=course.target)
        fault.end()
        course.healed_ns = self._world.now_ns
        self._events.record("fault.healed", actor="lab", **names)


def when_words(strike: PlannedStrike) -> str:
    """When a strike strikes, for people."""
    trigger = trigger_of(strike)
    return f"at {strike.at_s:.3f} s" if trigger is None else describe(trigger)


def _aimed(fault: Fault, process: str) -> Fault:
    return fault.aimed_at(process) if fault.struck_process == REACHED else fault

"""The nemesis at work: each strike waits for its trigger, begins, proves its bite, lasts, is lifted, and proves that it healed."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from chaos.environment import Environment, Process, ProcessSpec, Services
from chaos.errors import ChaosError, FaultDidNotBite
from chaos.faults import REACHED, Fault
from chaos.injection import Evidence, Injection
from scenarios.contract.tasklab_probe import Recorder
from scenarios.experiment.outside import Gate, OutsideServer, Point
from scenarios.experiment.scenario import (
    ACKNOWLEDGED_WITHIN_S,
    AtStart,
    AttemptBegun,
    EffectAccepted,
    Effects,
    LeaderAtWork,
    PreviousBit,
    Strike,
    Trigger,
    UntilNextBites,
    drawn,
)
from scenarios.experiment.submissions import Submissions
from scenarios.record.run_facts import FaultRecord

BITE_TIMEOUT_S = 20.0
HEAL_TIMEOUT_S = 40.0
SLICE_S = 0.25
LOOK_S = 0.02

_POINTS: Mapping[type, Point] = {AttemptBegun: "attempt", EffectAccepted: "effect", LeaderAtWork: "leader"}


class World(Protocol):
    """What strikes need of a run."""

    @property
    def environment(self) -> Environment:
        """Where the faults are made."""

    @property
    def services(self) -> Services:
        """The run's."""

    @property
    def processes(self) -> Mapping[str, Process]:
        """By name."""

    @property
    def outside(self) -> OutsideServer:
        """Whose gates catch processes."""

    @property
    def submissions(self) -> Submissions:
        """What was acknowledged."""

    @property
    def recorder(self) -> Recorder:
        """Of the lab."""


@dataclass(slots=True)
class Course:
    """How one strike goes; written by its thread, read by others when it is over. `acknowledged`: how much was when it bit."""

    strike: Strike
    fault: Fault
    target: str = "?"
    subject: str = ""
    begun_ns: int | None = None
    bit_ns: int | None = None
    acknowledged: int = 0
    ended_ns: int | None = None
    healed_ns: int | None = None
    evidence: str = ""
    problem: str = ""
    roles: tuple[str, ...] = ()

    def facts(self) -> FaultRecord:
        """For run.json."""
        return FaultRecord(
            fault=self.fault.name,
            target=self.target,
            when=describe(self.strike.when),
            begun_ns=self.begun_ns,
            bit_ns=self.bit_ns,
            ended_ns=self.ended_ns,
            healed_ns=self.healed_ns,
            evidence=self.evidence,
            problem=self.problem,
            roles=self.roles,
        )


class Nemesis:
    """All strikes of a run, each in a thread of its own. Use `with`: leaving it lifts whatever is not lifted yet."""

    def __init__(self, world: World, strikes: Sequence[Strike], say: Callable[[str], None]) -> None:
        self._world = world
        self._say = say
        self._give_up = threading.Event()
        self._aborted = threading.Event()
        self._bitten = [threading.Event() for _ in strikes]
        self.courses = [Course(strike, strike.fault) for strike in strikes]
        self._gates: list[Gate | None] = []
        self._effects_before = 0
        self._threads = [
            threading.Thread(target=self._run, args=(number,), name=f"strike {number + 1}", daemon=True)
            for number in range(len(strikes))
        ]

    def __enter__(self) -> "Nemesis":
        # Only now: what came to a point before the storm must neither be caught nor be counted.
        self._gates = [self._arm(course.strike.when) for course in self.courses]
        self._effects_before = self._world.outside.count("effect")
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.give_up()
        if kind is not None:
            self._aborted.set()  # interrupted: what is struck now is healed now
        for thread in self._threads:
            thread.join()

    def give_up(self) -> None:
        """A strike whose trigger has not come by now has missed."""
        self._give_up.set()

    def holds_down(self) -> set[str]:
        """The processes that a strike has killed and is going to start again."""
        return {
            course.target
            for course in self.courses
            if course.fault.ends_process and course.begun_ns is not None and course.healed_ns is None
        }

    def strikes_now(self) -> bool:
        """Whether a fault is on at this moment."""
        return any(course.bit_ns is not None and course.ended_ns is None for course in self.courses)

    def problems(self) -> list[str]:
        """What went wrong with strikes that are over: each of them makes the run unknown."""
        return [
            course.problem or f"strike {course.fault.name} on {course.target} did not run to its end"
            for course in self.courses
            if course.healed_ns is None
        ]

    def over(self) -> bool:
        """Whether every strike has come to its end, good or bad."""
        return not any(thread.is_alive() for thread in self._threads)

    def _arm(self, when: Trigger) -> Gate | None:
        if not isinstance(when, AttemptBegun | EffectAccepted | LeaderAtWork):
            return None
        return self._world.outside.arm(_POINTS[type(when)], drawn(when.nth))

    def _run(self, number: int) -> None:
        course, gate = self.courses[number], self._gates[number]
        injection: Injection | None = None
        try:
            self._await_trigger(number, course, gate)
            injection = self._strike(number, course)
            if gate is not None:
                gate.release()  # only now: the process was caught in exactly this phase
            self._last(number, course)
            self._lift(course, injection)
        except ChaosError as error:
            course.problem = str(error)
            self._say(f"strike {number + 1}: {error}")
        finally:
            if gate is not None:
                gate.release()
            if injection is not None:
                injection.end()
            self._bitten[number].set()  # whoever waits for this strike waits no longer; `problem` tells why

    def _await_trigger(self, number: int, course: Course, gate: Gate | None) -> None:
        when = course.strike.when
        if gate is not None:
            self._await(lambda: gate.await_reached(LOOK_S), course)
            course.subject = gate.subject
            course.fault = _aimed(course.fault, gate.actor)
        elif isinstance(when, Effects):
            count = self._effects_before + drawn(when.count)
            self._await(lambda: self._world.outside.count("effect") >= count, course)
        elif isinstance(when, PreviousBit):
            assert number > 0, "the first strike has none before it"
            self._await(lambda: self._bitten[number - 1].is_set(), course)
            before = self.courses[number - 1]
            if before.problem:
                raise FaultDidNotBite(course.fault.name, course.target, "the strike before it did not bite")
            self._rest(drawn(when.wait_s))
            self._await_acknowledged(before.acknowledged + when.acknowledged)
        else:
            assert isinstance(when, AtStart), when

    def _await(self, has_come: Callable[[], bool], course: Course) -> None:
        while not has_come():
            if self._give_up.wait(LOOK_S):
                raise FaultDidNotBite(
                    course.fault.name, course.target, f"its moment never came: {describe(course.strike.when)}"
                )

    def _await_acknowledged(self, count: int) -> None:
        """Bounded: a system that blocks its clients while it is struck has not evaded the next strike."""
        for _ in range(round(ACKNOWLEDGED_WITHIN_S / LOOK_S)):
            if self._world.submissions.acknowledged >= count or self._give_up.wait(LOOK_S):
                return

    def _strike(self, number: int, course: Course) -> Injection:
        world = self._world
        fault = course.fault = _by_role(course.fault, world.processes)
        injection = world.environment.injection(fault, world.services, world.processes)
        course.target = injection.target
        if fault.struck_process is not None and not fault.needs_link:
            course.roles = world.processes[fault.struck_process].spec.roles
        names = {"fault": fault.name, "target": course.target}
        course.begun_ns = world.recorder.now_ns()
        world.recorder.record("fault.begin", **names)
        try:
            injection.begin()
            course.evidence = self._await_bite(injection, fault).words
        except ChaosError:
            injection.end()
            raise
        course.bit_ns = world.recorder.now_ns()
        course.acknowledged = world.submissions.acknowledged
        if fault.ends_process:
            world.recorder.record("crash", actor=course.target)
        world.recorder.record("fault.bit", **names, detail=course.evidence)
        self._bitten[number].set()
        self._say(f"{names['fault']} on {course.target}: {course.evidence}")
        return injection

    def _await_bite(self, injection: Injection, fault: Fault) -> Evidence:
        """A fault that waits for traffic waits as long as there is any: it ends with the storm, not with a patience of its own."""
        if not fault.waits_for_traffic:
            return injection.await_bite(BITE_TIMEOUT_S)
        while True:
            try:
                return injection.await_bite(SLICE_S)
            except FaultDidNotBite:
                if self._give_up.is_set():
                    raise

    def _last(self, number: int, course: Course) -> None:
        lasts_s = course.strike.lasts_s
        if isinstance(lasts_s, UntilNextBites):
            self._bitten[number + 1].wait()
        else:
            assert isinstance(lasts_s, float | int), "a plan holds nothing that is still to be drawn"
            self._rest(lasts_s)

    def _lift(self, course: Course, injection: Injection) -> None:
        recorder = self._world.recorder
        names = {"fault": course.fault.name, "target": course.target}
        recorder.record("fault.end", **names)
        course.ended_ns = recorder.now_ns()
        if course.fault.ends_process:
            recorder.record("restart", actor=course.target)
        injection.end()
        injection.await_healed(HEAL_TIMEOUT_S)
        course.healed_ns = recorder.now_ns()
        recorder.record("fault.healed", **names)
        self._say(f"{names['fault']} on {course.target}: healed")

    def _rest(self, seconds: float) -> None:
        self._aborted.wait(seconds)


def _aimed(fault: Fault, process: str) -> Fault:
    """The fault, at the process that tripped the trigger where it is meant for that one."""
    return fault.aimed_at(process) if fault.struck_process == REACHED else fault


def _by_role(fault: Fault, processes: Mapping[str, Process]) -> Fault:
    """The fault, at the first process that plays the role it names."""
    struck = fault.struck_process
    if struck is None or struck in processes:
        return fault
    playing = process_playing(struck, [process.spec for process in processes.values()])
    return fault if playing is None else fault.aimed_at(playing)


def process_playing(role: str, specs: Sequence[ProcessSpec]) -> str | None:
    """The name of the first process that plays the role (or has it for a name), or None."""
    return next((spec.name for spec in specs if role == spec.name or role in spec.roles), None)


def describe(when: Trigger) -> str:
    """The trigger in words, for run.json, messages and reports."""
    match when:
        case AtStart():
            return "from the start"
        case AttemptBegun(nth):
            return f"attempt {nth} has begun"
        case EffectAccepted(nth):
            return f"effect {nth} was accepted, its process not yet told"
        case LeaderAtWork(nth):
            return f"the leader is at work for time {nth}"
        case Effects(count):
            return f"{count} effects were accepted"
        case PreviousBit(wait_s, acknowledged):
            since = f", and {acknowledged} submissions were acknowledged since" if acknowledged else ""
            return f"{wait_s} s after the strike before it bit{since}"

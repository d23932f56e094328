"""One simulated world from its first event to its verdicts: storm, calm, account. The same phases as on real services."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import msgspec
import structlog

from chaos.simulation.clock import EPOCH_NS, Skew, ns
from chaos.simulation.delays import Delays, erratic, preempting
from chaos.simulation.mishaps import Cut, Kill, Mishap, Pause, Undo
from chaos.simulation.pool import reading_engine
from chaos.simulation.scheduler import Fiber, Life, Waiters, WorldStuck
from chaos.simulation.trace import Trace
from chaos.simulation.world import SimulatedProcess, World
from scenarios.drain import all_ended
from scenarios.guarantees import Guarantee
from scenarios.history import Event, History, Recorded
from scenarios.judge import Judgement, judge
from scenarios.simulated.clients import Clients
from scenarios.simulated.coverage import Coverage, stage_at_call, stage_of
from scenarios.simulated.outside import SimulatedOutside
from scenarios.simulated.plan import DelayPlan, PlannedMishap, WorldPlan, mishaps_by_call
from scenarios.simulated.probe import SimulatedProbe
from scenarios.simulated.record import EventList
from scenarios.simulated.strikes import Course, Nemesis
from scenarios.simulated.system import Simulation
from scenarios.system import Account

LOOK_S = 0.05
SETTLED_S = 0.3
"""How long everything has to stay ended: a message that was delivered twice may still start something."""
RESTART_AFTER_S = 0.5
"""How soon a process that ended by itself is started again, as a service manager would."""
LONGEST_PREEMPTION_S = 3.0
BUDGET_S = 30.0
"""For a system that states no budget of its own."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """A world that has come to its end."""

    plan: WorldPlan
    events: Sequence[Event]
    judgement: Judgement
    trace: Trace
    courses: Sequence[Course]
    coverage: Coverage
    deviations: Mapping[str, Mapping[int, int]] | None
    missed: Sequence[PlannedMishap]
    gone: Sequence[str]
    steps: int
    virtual_s: float

    def digest(self) -> str:
        """The same for two worlds if and only if the same happened in both, and was seen and judged the same."""
        seen = hashlib.blake2b(self.trace.digest().encode(), digest_size=12)
        for event in self.events:
            seen.update(msgspec.json.encode(event))
        for verdict in self.judgement.verdicts:
            seen.update(f"{verdict.guarantee}={verdict.ruling}".encode())
        return seen.hexdigest()


@dataclass(slots=True)
class _Drained:
    account: Account
    caught_up: bool
    how: str
    took_ns: int = field(default=0)


def simulate(plan: WorldPlan, simulation: Simulation, *, keep_delays: bool = False) -> Simulated:
    """Run the world; the same plan, the same world. `keep_delays`: also say what every delay was that was not the usual one."""
    loud = structlog.get_config()
    structlog.configure(wrapper_class=_SILENT)  # a world has no use for log lines: what happened is in its trace
    try:
        return WorldRun(plan, simulation, keep_delays=keep_delays).carry_out()
    finally:
        structlog.configure(**loud)


_SILENT = structlog.make_filtering_bound_logger(logging.CRITICAL)


class WorldRun:
    """A world while it runs."""

    def __init__(self, plan: WorldPlan, simulation: Simulation, *, keep_delays: bool) -> None:
        self.plan = plan
        self._simulation = simulation
        self._terms = simulation.terms
        self._deviations: dict[str, dict[int, int]] | None = {} if keep_delays else None
        self._mishaps: dict[tuple[str, int], PlannedMishap] = {(one.fiber, one.call): one for one in plan.mishaps}
        self._struck: set[tuple[str, int]] = set()
        self._down: set[str] = set()
        self._gone: list[str] = []
        self._open_mishaps = 0
        self._healed: Waiters = []
        self.coverage = Coverage()
        self.world = World(
            f"{plan.seed}/{plan.scenario}",
            simulation.tables(),
            simulation.words,
            simulation.bounds,
            _delays(plan, self._deviations),
            mishaps=mishaps_by_call(plan),
            strike=self._befall,
            when_gone=self._restart_later,
        )
        self.events = EventList(self.world.scheduler)
        self.outside = SimulatedOutside(self.world.scheduler, self.events)
        self._engine = reading_engine(self.world.database)
        for process in simulation.processes(plan.sizes, self._probe):
            self.world.add(process, Skew(*plan.skews.get(process.name, (0.0, 1.0))))
        self.clients = Clients(self.world, simulation, self.events)
        self.nemesis = Nemesis(self.world, self.outside, self.events, self.coverage, plan.strikes)

    def carry_out(self) -> Simulated:
        """Everything, to the verdicts."""
        problems: list[str] = []
        self.world.spawn("lab", self._run)
        try:
            self.world.scheduler.run()
        except WorldStuck as stuck:
            problems.append(str(stuck))
        finally:
            self.world.scheduler.close()
        if self.plan.must_bite:
            problems += [course.problem for course in self.nemesis.courses if course.problem]
        events = [*self.events.events, *self._trail()]
        return Simulated(
            plan=self.plan,
            events=events,
            judgement=judge(
                Recorded(History(events)), claims=self._claims(), policy=self._terms.policy, problems=problems
            ),
            trace=self.world.trace,
            courses=self.nemesis.courses,
            coverage=self.coverage,
            deviations=self._deviations,
            missed=[mishap for place, mishap in self._mishaps.items() if place not in self._struck],
            gone=self._gone,
            steps=self.world.scheduler.steps,
            virtual_s=self.world.now_ns / 1e9,
        )

    def _run(self) -> None:
        world, scheduler = self.world, self.world.scheduler
        for process in world.processes.values():
            world.start(process)
        self.nemesis.start()
        self.clients.start(self.plan.tasks, read_every_s=self.plan.read_every_s)
        while not self.clients.are_done:
            scheduler.wait(self.clients.done)
        scheduler.at(world.now_ns + ns(self.plan.patience_s), self.nemesis.give_up)
        while not self.nemesis.is_over:
            scheduler.wait(self.nemesis.over)
        # Nothing strikes any more, the network is calm, and what has struck heals.
        world.network.mishaps = {}
        world.network.delays = Delays()
        while self._open_mishaps:
            scheduler.wait(self._healed)
        drained = self._drain()
        self.clients.is_over = True
        self._write_final(drained)
        self.clients.read_last()
        scheduler.end()

    def _drain(self) -> _Drained:
        """As scenarios.drain: until all has ended, or nothing moves any more, or the budget is over."""
        world, scheduler = self.world, self.world.scheduler
        quiet_s, budget_s = self._terms.pace.quiet_s, self._terms.policy.budget_s or BUDGET_S
        began_ns = moved_ns = world.now_ns
        commits = -1
        account = Account()
        ended_since_ns: int | None = None
        while True:
            if world.database.commits != commits:
                commits = world.database.commits
                latest = self._simulation.account(self._engine)
                if latest != account:
                    account, moved_ns = latest, world.now_ns
            if world.now_ns - self.outside.last_ns < ns(2 * LOOK_S):
                moved_ns = world.now_ns
            took_ns = world.now_ns - began_ns
            if all_ended(account, self.clients.outcomes):
                ended_since_ns = world.now_ns if ended_since_ns is None else ended_since_ns
                if world.now_ns - ended_since_ns >= ns(SETTLED_S):
                    return _Drained(account, True, "every acknowledged task has ended", took_ns)
            else:
                ended_since_ns = None
            if world.now_ns - moved_ns >= ns(quiet_s):
                return _Drained(account, True, f"nothing has moved for {quiet_s:g} s", took_ns)
            if took_ns >= ns(budget_s + quiet_s):
                return _Drained(account, False, f"still moving after {took_ns / 1e9:.0f} s", took_ns)
            scheduler.rest(ns(LOOK_S))

    def _write_final(self, drained: _Drained) -> None:
        account = drained.account
        self.events.record(
            "final",
            actor="lab",
            healed=True,
            caught_up=drained.caught_up,
            done=account.done,
            dead=account.dead,
            cancelled=account.cancelled,
            expired=account.expired,
            pending=account.pending,
            detail=drained.how,
        )

    def _trail(self) -> list[Event]:
        """The system's own, on the clock of the world; and the acks that were swallowed."""
        events = list(self._simulation.trail(self._engine, EPOCH_NS))
        for course in self.nemesis.courses:
            if course.bit_ns is not None and course.planned.fault == "ack_swallowed":
                events += [
                    Event(event="ack.info", actor="broker", t_ns=course.bit_ns, task=task)
                    for task, id_ in self.clients.ids.items()
                    if id_ in course.evidence
                ]
        return events

    def _claims(self) -> frozenset[Guarantee]:
        return self._terms.claims_under(
            course.planned.fault for course in self.nemesis.courses if course.bit_ns is not None
        )

    def _probe(self, process: str) -> SimulatedProbe:
        return SimulatedProbe(self.world, self.world.processes[process], self.outside, self.events)

    def _befall(self, fiber: Fiber, service: str, what: str, mishap: Mishap) -> None:
        """A mishap of this call, as the network asks for it."""
        planned = self._mishaps[fiber.name, fiber.calls]
        self._struck.add((fiber.name, fiber.calls))
        process = self.world.process_of(fiber)
        name = process.name if process is not None else "client"
        fault, target = _named(mishap, name, service)
        if process is not None:
            stage = stage_of(fiber.name, process.plan.role, self.world.trace.steps)
            self.coverage.add(fault, [stage] if (stage := stage_at_call(stage, what, planned.side)) else [])
        self._open_mishaps += 1
        self.events.record("fault.begin", actor="lab", fault=fault, target=target)
        if isinstance(mishap, Kill):
            assert process is not None, "clients are not killed"
            self._down.add(process.name)
            self.events.record("crash", actor=process.name)
            self.world.kill(process)
        elif isinstance(mishap, Pause):
            self.world.scheduler.pause(fiber.life)
        self.events.record("fault.bit", actor="lab", fault=fault, target=target, detail=f"{planned.side} {what}")
        lasts_s = 0.0 if isinstance(mishap, Undo) else planned.lasts_s
        heals_ns = self.world.now_ns + ns(lasts_s)
        self.world.scheduler.at(heals_ns, lambda: self._heal(fault, target, process, fiber.life, mishap))

    def _heal(self, fault: str, target: str, process: SimulatedProcess | None, life: Life, mishap: Mishap) -> None:
        self.events.record("fault.end", actor="lab", fault=fault, target=target)
        if isinstance(mishap, Kill) and process is not None:
            self._down.discard(process.name)
            if not process.is_alive() and not self.nemesis.holds_down(process.name):
                self.events.record("restart", actor=process.name)
                self.world.start(process)
        elif isinstance(mishap, Pause) and life.paused:
            self.world.scheduler.resume(life)
        self.events.record("fault.healed", actor="lab", fault=fault, target=target)
        self._open_mishaps -= 1
        self.world.scheduler.wake(self._healed)

    def _restart_later(self, process: SimulatedProcess, why: str) -> None:
        """It ended by itself: the service manager starts it again."""
        self.events.record("crash", actor=process.name, detail=why)
        self._gone.append(f"{process.name}: {why}")

        def restart() -> None:
            held_down = process.name in self._down or self.nemesis.holds_down(process.name)
            if not process.is_alive() and not held_down:
                self.events.record("restart", actor=process.name)
                self.world.start(process)

        self.world.scheduler.at(self.world.now_ns + ns(RESTART_AFTER_S), restart)


def _named(mishap: Mishap, process: str, service: str) -> tuple[str, str]:
    match mishap:
        case Kill():
            return "process_killed", process
        case Pause():
            return "process_paused", process
        case Cut("before"):
            return "network_request_lost", f"{process}→{service}"
        case Cut():
            return "network_answer_lost", f"{process}→{service}"
        case Undo():
            return "database_undone", f"{process}→{service}"


def _delays(plan: WorldPlan, deviations: dict[str, dict[int, int]] | None) -> Delays:
    delays: DelayPlan = plan.delays
    chance = Random(f"{plan.seed}/{plan.scenario}/delays")
    if delays.kind == "erratic":
        draw = erratic(chance, slow_share=delays.slow_share, slow_s=delays.slow_s)
    elif delays.kind == "preempting":
        draw = preempting(chance, times=delays.times, among=delays.among, longest_s=LONGEST_PREEMPTION_S)
    else:
        return Delays(stated=delays.stated, deviations=deviations)
    return Delays(draw, deviations=deviations)

"""One simulated world from its first event to its verdicts: storm, calm, account. The same phases as on real services."""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

import msgspec
import structlog

from chaos.simulation.database.pool import reading_engine
from chaos.simulation.kernel.clock import EPOCH_NS, Skew, ns
from chaos.simulation.kernel.scheduler import WorldStuck
from chaos.simulation.kernel.trace import Trace
from chaos.simulation.network.delays import Delays, erratic, preempting
from chaos.simulation.world import SimulatedProcess, World
from scenarios.contract.system import Account
from scenarios.experiment.drain import all_ended
from scenarios.judging.assumptions import violated_assumptions
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import Judgement, judge
from scenarios.judging.policy import Policy
from scenarios.record.history import Event, History, Recorded
from scenarios.record.run_facts import FaultRecord
from scenarios.simulated.clients import Clients
from scenarios.simulated.coverage import Coverage
from scenarios.simulated.mishaps import Mishaps
from scenarios.simulated.outside import SimulatedOutside
from scenarios.simulated.probe import KILLED_BY_TASK, SimulatedProbe
from scenarios.simulated.record import EventList
from scenarios.simulated.strikes import Nemesis
from scenarios.simulated.system import Simulation
from scenarios.simulated.worlds.plan import WorldPlan, mishaps_by_call

LOOK_S = 0.05
SETTLED_S = 0.3
"""How long everything has to stay ended: a message that was delivered twice may still start something."""
RESTART_AFTER_S = 0.5
"""How soon a process that ended by itself is started again, as a service manager would."""
LONGEST_PREEMPTION_S = 3.0
BUDGET_S = 30.0
"""For a system that states no budget of its own."""

_SILENT = structlog.make_filtering_bound_logger(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Simulated:
    """A world that has come to its end.

    `deviations`: every delay that was not the usual one, where it was asked to keep them. `missed`: how many of its faults never bit.
    `gone`: processes that ended by themselves, and why. `calls`: by fiber, how many calls it made;
    `calls_at_first_mishap`: and how many of them by then.
    """

    plan: WorldPlan
    events: Sequence[Event]
    claims: frozenset[Guarantee]
    judgement: Judgement
    trace: Trace
    strikes: Sequence[FaultRecord]
    coverage: Coverage
    deviations: Mapping[str, Mapping[int, int]] | None
    missed: int
    gone: Sequence[str]
    calls: Mapping[str, int]
    calls_at_first_mishap: Mapping[str, int]
    phases_ns: Mapping[str, int]
    problems: Sequence[str]
    policy: Policy
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


def simulate(plan: WorldPlan, simulation: Simulation, *, keep_delays: bool = False) -> Simulated:
    """Run the world; the same plan, the same world. `keep_delays`: also say what every delay was that was not the usual one."""
    with silence():
        return WorldRun(plan, simulation, keep_delays=keep_delays).carry_out()


@contextmanager
def silence() -> Iterator[None]:
    """A world has no use for log lines: what happened is in its trace."""
    loud = structlog.get_config()
    structlog.configure(wrapper_class=_SILENT)
    try:
        yield
    finally:
        structlog.configure(**loud)


class WorldRun:
    """A world while it runs. A subclass may have another `storm` than the planned one."""

    def __init__(self, plan: WorldPlan, simulation: Simulation, *, keep_delays: bool = False) -> None:
        self.plan = plan
        self._simulation = simulation
        self._terms = simulation.terms
        self._deviations: dict[str, dict[int, int]] | None = {} if keep_delays else None
        self._gone: list[str] = []
        self._phases_ns: dict[str, int] = {}
        self._calls: dict[str, int] = {}
        self.coverage = Coverage()
        self.mishaps = Mishaps(plan.mishaps, self.coverage)
        self.world = World(
            f"{plan.seed}/{plan.scenario}",
            simulation.tables(),
            simulation.words,
            simulation.bounds,
            _delays(plan, self._deviations),
            mishaps=mishaps_by_call(plan),
            strike=self.mishaps.befall,
            when_gone=self._restart_later,
        )
        self.world.broker.forgets_queues = plan.forgets_queues
        self.events = EventList(self.world.scheduler)
        self.mishaps.set_up(self.world, self.events)
        self.outside = SimulatedOutside(self.world.scheduler, self.events)
        self._engine = reading_engine(self.world.scheduler, self.world.database)
        for process in simulation.processes(plan.sizes, self._probe):
            self.world.add(process, Skew(*plan.skews.get(process.name, (0.0, 1.0))))
        self.clients = Clients(self.world, simulation, self.events)
        self.nemesis = Nemesis(self.world, self.outside, self.events, self.coverage, plan.strikes)
        self._account = Account()
        self._account_is_of = -1

    def carry_out(self) -> Simulated:
        """Everything, to the verdicts."""
        stuck: list[str] = []
        self.world.spawn("lab", self._run)
        try:
            self.world.scheduler.run()
        except WorldStuck as error:
            stuck.append(str(error))
        finally:
            self.world.scheduler.close()
        missed = [course.problem for course in self.nemesis.courses if course.problem]
        missed += [f"call {one.call} of {one.fiber} never came" for one in self.mishaps.missed()]
        problems = [*stuck, *(missed if self.plan.must_bite else ())]
        events = self.history()
        claims = self._claims()
        history = History(events)
        return Simulated(
            plan=self.plan,
            events=events,
            claims=claims,
            judgement=judge(
                Recorded(history),
                claims=claims,
                policy=self._terms.policy,
                problems=problems,
                violated=[*violated_assumptions(history), *self._crashes()],
            ),
            trace=self.world.trace,
            strikes=[*(course.facts() for course in self.nemesis.courses), *self.mishaps.told],
            coverage=self.coverage,
            deviations=self._deviations,
            missed=len(missed),
            gone=self._gone,
            calls=self._calls,
            calls_at_first_mishap=self.mishaps.calls_at_first,
            phases_ns=self._phases_ns,
            problems=problems,
            policy=self._terms.policy,
            steps=self.world.scheduler.steps,
            virtual_s=self.world.now_ns / 1e9,
        )

    def storm(self) -> None:
        """Everything planned happens; in a fiber of the lab. What strikes has to be lifted by its end."""
        self.nemesis.start()
        self.clients.start(self.plan.tasks, read_every_s=self.plan.read_every_s)
        while not self.clients.are_done:
            self.world.scheduler.wait(self.clients.done)
        self._await_strikes()

    def history(self) -> list[Event]:
        """What was seen so far, and the system's own trail."""
        return [*self.events.events, *self._trail()]

    def _run(self) -> None:
        world, scheduler = self.world, self.world.scheduler
        self._begin("storm")
        for process in world.processes.values():
            world.start(process)
        self.storm()
        self._begin("calm")
        # Nothing strikes any more, the network is calm, and what has struck heals.
        world.network.mishaps = {}
        world.network.delays = Delays()
        while not self.mishaps.are_healed:
            scheduler.wait(self.mishaps.healed)
        caught_up, how = self._drain()
        self._begin("account")
        self._calls = dict(world.network.calls)  # what the lab looks at afterwards is not part of the run
        self.clients.is_over = True
        self._write_final(how, caught_up=caught_up)
        self.clients.read_last()
        self._begin("end")
        scheduler.end()

    def _begin(self, phase: str) -> None:
        self._phases_ns[phase] = self.world.now_ns

    def _await_strikes(self) -> None:
        """Until everything planned has struck, or patience is over, or, where faults may miss, there is nothing left to disturb."""
        scheduler = self.world.scheduler
        give_up_ns = self.world.now_ns + ns(self.plan.patience_s)
        ended_since_ns: int | None = None
        while self.world.now_ns < give_up_ns and not (self.nemesis.is_over and not self.mishaps.missed()):
            if not self.plan.must_bite and self._all_ended():
                ended_since_ns = self.world.now_ns if ended_since_ns is None else ended_since_ns
                if self.world.now_ns - ended_since_ns >= ns(SETTLED_S):
                    break
            scheduler.rest(ns(LOOK_S))
        self.nemesis.give_up()
        while not self.nemesis.is_over:
            scheduler.wait(self.nemesis.over)

    def _drain(self) -> tuple[bool, str]:
        """As scenarios.experiment.drain: until all has ended, or nothing moves any more, or the budget is over."""
        world, scheduler = self.world, self.world.scheduler
        quiet_s, budget_s = self._terms.pace.quiet_s, self._terms.policy.budget_s or BUDGET_S
        began_ns = moved_ns = world.now_ns
        ended_since_ns: int | None = None
        account = self._account
        while True:
            now_ns = world.now_ns
            all_have_ended = self._all_ended()
            if self._account != account or now_ns - self.outside.last_ns < ns(2 * LOOK_S):
                account, moved_ns = self._account, now_ns
            if all_have_ended:
                ended_since_ns = now_ns if ended_since_ns is None else ended_since_ns
                if now_ns - ended_since_ns >= ns(SETTLED_S):
                    return True, "every acknowledged task has ended"
            else:
                ended_since_ns = None
            if now_ns - moved_ns >= ns(quiet_s):
                return True, f"nothing has moved for {quiet_s:g} s"
            if now_ns - began_ns >= ns(budget_s + quiet_s):
                return False, f"still moving after {(now_ns - began_ns) / 1e9:.0f} s"
            scheduler.rest(ns(LOOK_S))

    def _all_ended(self) -> bool:
        """Whether every acknowledged task has ended, by an account that is read again only after something was committed."""
        if self._account_is_of != self.world.database.commits:
            self._account_is_of = self.world.database.commits
            self._account = self._simulation.account(self._engine)
        return all_ended(self._account, self.clients.outcomes)

    def _write_final(self, how: str, *, caught_up: bool) -> None:
        account = self._account
        self.events.record(
            "final",
            actor="lab",
            healed=True,
            caught_up=caught_up,
            done=account.done,
            dead=account.dead,
            cancelled=account.cancelled,
            expired=account.expired,
            pending=account.pending,
            detail=how,
        )

    def _trail(self) -> list[Event]:
        """The system's own, on the clock of the world; and the acks that were swallowed."""
        events = list(self._simulation.trail(self._engine, EPOCH_NS))
        swallowed = sorted(
            (course.bit_ns, course.evidence)
            for course in self.nemesis.courses
            if course.bit_ns is not None and course.planned.fault == "ack_swallowed"
        )
        for t_ns, evidence in swallowed:
            events += [
                Event(event="ack.info", actor="broker", t_ns=t_ns, task=task)
                for task, id_ in self.clients.ids.items()
                if id_ in evidence
            ]
        return events

    def _claims(self) -> frozenset[Guarantee]:
        """What the system promises under what has bitten."""
        return self._terms.claims_under(
            course.planned.fault for course in self.nemesis.courses if course.bit_ns is not None
        )

    def _probe(self, process: str) -> SimulatedProbe:
        return SimulatedProbe(self.world, self.world.processes[process], self.outside, self.events)

    def _crashes(self) -> list[str]:
        """Processes that ended by themselves for no reason of the plan: what they would have done next nobody knows."""
        return [f"{gone} (a crash that nobody planned)" for gone in self._gone if not gone.endswith(KILLED_BY_TASK)]

    def _restart_later(self, process: SimulatedProcess, why: str) -> None:
        """It ended by itself: the service manager starts it again."""
        self.events.record("crash", actor=process.name, detail=why)
        self._gone.append(f"{process.name}: {why}")

        def restart() -> None:
            held_down = self.mishaps.holds_down(process.name) or self.nemesis.holds_down(process.name)
            if not process.is_alive() and not held_down:
                self.events.record("restart", actor=process.name)
                self.world.start(process)

        self.world.scheduler.at(self.world.now_ns + ns(RESTART_AFTER_S), restart)


def _delays(plan: WorldPlan, deviations: dict[str, dict[int, int]] | None) -> Delays:
    delays = plan.delays
    chance = Random(f"{plan.seed}/{plan.scenario}/delays")
    if delays.kind == "erratic":
        draw = erratic(chance, slow_share=delays.slow_share, slow_s=delays.slow_s)
    elif delays.kind == "preempting":
        draw = preempting(chance, times=delays.times, among=delays.among, longest_s=LONGEST_PREEMPTION_S)
    else:
        return Delays(stated=delays.stated, deviations=deviations)
    return Delays(draw, deviations=deviations)

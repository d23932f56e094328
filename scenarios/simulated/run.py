"""Runs one simulated world, from its first event to its verdicts: the experiment on the simulated stage, judged."""

import hashlib
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

import msgspec
import structlog

from chaos.errors import ChaosError
from chaos.simulation.database.pool import reading_engine
from chaos.simulation.kernel.clock import Skew
from chaos.simulation.kernel.scheduler import WorldStuck
from chaos.simulation.kernel.trace import Trace
from chaos.simulation.network.delays import Delays, erratic, preempting
from chaos.simulation.world import SimulatedProcess, World
from scenarios.contract.system import Submit
from scenarios.errors import ScenarioError
from scenarios.experiment.arrival import Act, Arrival, RedriveWhenDead
from scenarios.experiment.clients import Clients, Roster
from scenarios.experiment.driver import Driver
from scenarios.experiment.run import BUDGET_S, Experiment, StrikeTimeout, Timing
from scenarios.judging.assumptions import violated_assumptions
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import Judgement, judge
from scenarios.judging.policy import Policy
from scenarios.record.history import Event, History, Recorded
from scenarios.record.run_facts import FaultRecord
from scenarios.simulated.call_faults import CallFaults
from scenarios.simulated.coverage import Coverage
from scenarios.simulated.inspection import Inspecting, Inspection
from scenarios.simulated.losses import spawn_loss
from scenarios.simulated.probe import KILLED_BY_TASK, SimulatedProbe
from scenarios.simulated.stage import SimulatedStage
from scenarios.simulated.strays import Strays
from scenarios.simulated.system import ComesToRest, Simulation, without
from scenarios.simulated.worlds.plan import SURE_TRIES, PlannedTask, WorldPlan, call_faults_by_call, strike_of

LONGEST_PREEMPTION_S = 3.0
RESTARTS_MAX = 1000
"""High, because in a small world a task may kill its worker often."""

_SILENT = structlog.make_filtering_bound_logger(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Simulated:
    """The result of a world.

    `deviations`: every delay other than the default, if they were to be kept. `missed`: number of its faults that never bit.
    `gone`: processes that ended by themselves, and why. `calls`: number of calls, by fiber; `calls_at_first_fault`: of these, the
    number before the first call fault. `work_left`: what the system had not finished long after the last task.
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
    calls_at_first_fault: Mapping[str, int]
    phases_ns: Mapping[str, int]
    problems: Sequence[str]
    work_left: Sequence[str]
    policy: Policy
    steps: int
    virtual_s: float

    def digest(self) -> str:
        """Equal for two worlds if and only if both have the same steps, events and rulings."""
        seen = hashlib.blake2b(self.trace.digest().encode(), digest_size=12)
        for event in self.events:
            seen.update(msgspec.json.encode(event))
        for verdict in self.judgement.verdicts:
            seen.update(f"{verdict.guarantee}={verdict.ruling}".encode())
        return seen.hexdigest()


Drive = Callable[[SimulatedStage, Experiment], Driver]
"""Makes the program that submits in a world."""


def simulate(plan: WorldPlan, simulation: Simulation, *, keep_delays: bool = False) -> Simulated:
    """Run the world; deterministic for a plan. `keep_delays`: also return every delay other than the default."""
    with silence():
        return WorldRun(plan, simulation, keep_delays=keep_delays).carry_out()


@contextmanager
def silence() -> Iterator[None]:
    """Suppress log lines: the trace has the steps of a world."""
    loud = structlog.get_config()
    structlog.configure(wrapper_class=_SILENT)
    try:
        yield
    finally:
        structlog.configure(**loud)


class WorldRun:
    """A running world. `drive`: makes the driver; by default, clients that submit the tasks of the plan."""

    def __init__(
        self, plan: WorldPlan, simulation: Simulation, *, drive: Drive | None = None, keep_delays: bool = False
    ) -> None:
        self.plan = plan
        self._simulation = simulation = _as_planned(simulation, plan)
        self._deviations: dict[str, dict[int, int]] | None = {} if keep_delays else None
        self.coverage = Coverage()
        self._call_faults = CallFaults(plan.call_faults, self.coverage)
        self.world = World(
            f"{plan.seed}/{plan.scenario}",
            simulation.tables(),
            simulation.errors,
            simulation.bounds,
            _delays(plan, self._deviations),
            call_faults=call_faults_by_call(plan),
            apply=self._call_faults.apply,
            when_gone=self._note_gone,
        )
        self.world.broker.forgets_queues = plan.forgets_queues
        self.world.broker.redelivers = plan.without != "redelivery"
        self.world.cache.answers_fast_state = plan.without != "cache"
        self.world.cache.excludes = plan.without != "lock"
        self._engine = engine = reading_engine(self.world.scheduler, self.world.database)
        self.stage = SimulatedStage(
            self.world,
            simulation,
            engine,
            self._call_faults,
            self.coverage,
            api_numbers(plan),
            checks_fences=plan.without != "fence",
            awaits_rest=plan.awaits_rest,
        )
        self._call_faults.set_up(self.world, self.stage.events)
        self._strays = Strays(self.world, plan.strays)
        for process in simulation.processes(plan.sizes, self._probe):
            self.world.add(process, Skew(*plan.skews.get(process.name, (0.0, 1.0))))
        strikes = [strike_of(strike) for strike in plan.strikes]
        self.experiment = Experiment(self.stage, self.stage.outside, strikes, _timing(plan, simulation))
        self._driver = (drive or _with_planned_clients(plan))(self.stage, self.experiment)

    def carry_out(self) -> Simulated:
        """Run and judge the world."""
        self.world.spawn("lab", self._run)
        self._strays.spawn()
        if self.plan.loss is not None:
            spawn_loss(self.world, self.plan.loss)
        try:
            self.world.scheduler.run()
        except WorldStuck as error:
            self.experiment.problems.append(str(error))
        except SystemExit as error:  # it would end the lab with the exit code of the code under test
            self.experiment.problems.append(f"the code under test raised {error!r}")
        finally:
            self.world.scheduler.close()
        return self._result()

    def history(self) -> list[Event]:
        """The events so far, including those known only afterwards."""
        return [*self.stage.events.events, *self.experiment.after_events()]

    def _run(self) -> None:
        try:
            self.experiment.run(self._driver)
        except (ChaosError, ScenarioError) as error:
            self.experiment.problems.append(str(error))
        self.world.scheduler.end()

    def _result(self) -> Simulated:
        events = self.history()
        states = self.experiment.nemesis.states
        missed_calls = [f"call {one.call} of {one.fiber} never came" for one in self._call_faults.missed()]
        missed_calls += self._strays.missed()
        problems = [*self.experiment.problems, *(missed_calls if self.plan.must_bite else ())]
        terms = self._simulation.terms
        claims = terms.claims_under(state.fault.name for state in states if state.bit_ns is not None)
        return Simulated(
            plan=self.plan,
            events=events,
            claims=claims,
            judgement=self._judge(events, claims, problems),
            trace=self.world.trace,
            strikes=[*(_record_of(state.facts()) for state in states), *self._call_faults.records],
            coverage=self.coverage,
            deviations=self._deviations,
            missed=sum(state.bit_ns is None for state in states) + len(missed_calls),
            gone=self.experiment.supervisor.gone,
            calls=self.stage.calls,
            calls_at_first_fault=self._call_faults.calls_at_first,
            phases_ns=self.stage.phases_ns,
            problems=problems,
            work_left=self.stage.work_left,
            policy=terms.policy,
            steps=self.world.scheduler.steps,
            virtual_s=self.world.now_ns / 1e9,
        )

    def _judge(self, events: list[Event], claims: frozenset[Guarantee], problems: Sequence[str]) -> Judgement:
        history = History(events)
        return judge(
            Recorded(history),
            claims=claims,
            policy=self._simulation.terms.policy,
            problems=problems,
            violated=[*violated_assumptions(history), *self._crashes()],
            unmet=[*_too_little_work(self.plan, history), *self.stage.work_left, *self._defects(history)],
        )

    def _defects(self, history: History) -> Sequence[str]:
        """What the system's own simulation finds wrong."""
        if not isinstance(self._simulation, Inspecting):
            return ()
        broker = self.world.broker
        queues = {name: queue.bodies() for name, queue in broker.queues.items()}
        inspection = Inspection(
            self.plan, history, self.stage.answers, self._engine, queues, broker.given_up, self.world.trace.steps
        )
        return self._simulation.defects(inspection)

    def _probe(self, process: str) -> SimulatedProbe:
        return SimulatedProbe(self.world, self.world.processes[process], self.stage.outside, self.stage.events)

    def _note_gone(self, process: SimulatedProcess, why: str) -> None:
        self.stage.note_gone(process, why)

    def _crashes(self) -> list[str]:
        """Processes that ended by themselves, not by the plan: their further behaviour is unknown."""
        gone = self.experiment.supervisor.gone
        return [f"{one} (a crash that was not planned)" for one in gone if not one.endswith(KILLED_BY_TASK)]


def _as_planned(simulation: Simulation, plan: WorldPlan) -> Simulation:
    simulation = without(simulation, plan.without)
    return simulation.tidying() if plan.awaits_rest and isinstance(simulation, ComesToRest) else simulation


def _too_little_work(plan: WorldPlan, history: History) -> list[str]:
    """The premise of every run, in a world as small as these: every client whose last try meets no fault is answered."""
    accepted = {task for task, timeline in history.tasks.items() if timeline.acknowledged}
    if plan.tasks and not accepted:
        return ["too little work: no submission was acknowledged"]
    surely = [task.task for task in plan.tasks if task.tries >= SURE_TRIES and task.task not in accepted]
    surely = [task for task in surely if not _may_have_lost_its_key(plan, history, task)]
    refused = [task for task in surely if _is_refused_in_calm(history, task)]
    return [f"too little work: {', '.join(refused)} was never acknowledged in {SURE_TRIES} tries"] if refused else []


def _may_have_lost_its_key(plan: WorldPlan, history: History, name: str) -> bool:
    """Whether another task of its user and key may be the system's, so that this one is refused for good."""
    own = next(task for task in plan.tasks if task.task == name)
    others = [task.task for task in plan.tasks if task.task != name and _key_of(task) == _key_of(own)]
    return any(other in history.tasks and history.tasks[other].is_possible for other in others)


def _key_of(task: PlannedTask) -> tuple[str, str]:
    return task.user, task.key or task.task


def _is_refused_in_calm(history: History, task: str) -> bool:
    """Whether its last submission was refused, and no fault had been on since the one before it."""
    timeline = history.tasks.get(task)
    if timeline is None or not timeline.submissions or timeline.submissions[-1].event != "submit.fail":
        return False
    asked_ns = [event.t_ns for event in timeline.submissions if event.event == "submit.invoke"]
    since_ns, until_ns = asked_ns[-2:][0], timeline.submissions[-1].t_ns
    return not any(span.overlaps(since_ns, until_ns) for span in history.faults)


def api_numbers(plan: WorldPlan) -> Mapping[str, int]:
    """The number of the API for each client, in turn."""
    return {
        _client_name(task.task, copy): number + copy
        for number, task in enumerate(plan.tasks)
        for copy in range(2 if task.twice else 1)
    }


def _with_planned_clients(plan: WorldPlan) -> Drive:
    def drive(stage: SimulatedStage, experiment: Experiment) -> Driver:
        acts = [Act(task.at_s, RedriveWhenDead(task.task)) for task in plan.tasks if task.redriven]
        return Clients(stage, experiment.submissions, _roster(plan), acts)

    return drive


def _roster(plan: WorldPlan) -> Roster:
    """One client for each task, or two, so that no client waits for another's answer."""
    return {
        _client_name(task.task, copy): deque(
            [
                Arrival(
                    task.at_s,
                    Submit(
                        task.task, task.payload, user=task.user, key=task.key or task.task, deadline_s=task.deadline_s
                    ),
                    task.tries,
                    cancel_s=task.cancel_s,
                )
            ]
        )
        for task in plan.tasks
        for copy in range(2 if task.twice else 1)
    }


def _client_name(task: str, copy: int) -> str:
    return f"client-{task}" + ("-again" if copy else "")


def _timing(plan: WorldPlan, simulation: Simulation) -> Timing:
    terms = simulation.terms
    return Timing(
        quiet_s=terms.pace.quiet_s,
        budget_s=BUDGET_S if terms.policy.budget_s is None else terms.policy.budget_s,
        strike_timeout=StrikeTimeout(plan.patience_s, may_miss=not plan.must_bite),
        read_every_s=plan.read_every_s,
        restarts_max=RESTARTS_MAX,
    )


def _record_of(strike: FaultRecord) -> FaultRecord:
    """The record without roles, because a judge expects a struck process with a role to have worked; in a small world it may be idle."""
    return msgspec.structs.replace(strike, roles=())


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

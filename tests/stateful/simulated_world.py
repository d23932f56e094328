"""The reference in the simulated world, driven step by step: between two steps the world stands still."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from greenlet import getcurrent, greenlet

from chaos.errors import ChaosError
from chaos.faults import Fault
from chaos.simulation.network.network import LineCut
from reference_impl.errors import ReferenceSystemError
from reference_impl.http.service import Api
from reference_impl.rows import dead_letter
from reference_impl.rows.transactions import read
from scenarios.contract.system import Submit
from scenarios.experiment.run import Experiment
from scenarios.experiment.scenario import AtStart, Strike
from scenarios.experiment.stage import Flow
from scenarios.experiment.strike_state import StrikeState
from scenarios.judging.judge import Judgement, judge
from scenarios.record.history import History, Recorded
from scenarios.simulated.run import Simulated, WorldRun, silence
from scenarios.simulated.stage import SimulatedStage
from scenarios.simulated.system import Simulation, Sizes
from scenarios.simulated.worlds.plan import DelayPlan, WorldPlan

SIZES = Sizes(apis=1, relays=1, workers=2, slots=1, rescuers=2)
READ_EVERY_S = 0.2
REQUEST_TIMEOUT_S = 5.0
TRIES_MAX = 100
PATIENCE_S = 0.5

Step = Callable[[], None]


class SimulatedWorld:
    """A world whose storm consists of the steps of a machine; the rest of a run, calm and account and verdicts, is that of any world.

    It runs in a greenlet of its own. One of its fibers comes out to fetch the next step, does it, and comes out again.
    """

    def __init__(self, simulation: Simulation, seed: int) -> None:
        self._simulation = simulation
        self._outside = getcurrent()
        self._clients = 0
        self._open: dict[Fault, StrikeState] = {}
        plan = WorldPlan(
            "machine",
            seed,
            tasks=(),
            sizes=SIZES,
            delays=DelayPlan("erratic", slow_share=0.5, slow_s=0.5),
            read_every_s=READ_EVERY_S,
            must_bite=True,
        )
        self.flows: list[Flow] = []
        self._host = greenlet(lambda: self._run(plan))
        self._fiber: greenlet = self._host
        self._told: Simulated | None = None
        self._host.switch()

    def submit(self, task: str, payload: Mapping[str, object]) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        submit = Submit(task, payload, key=task)

        def hand_in(name: str) -> None:
            client = self._stage.client(name)
            for _ in range(TRIES_MAX):
                if self._experiment.submissions.submit(client, submit, name).kind == "ok":
                    return
                self._stage.sleep(PATIENCE_S)

        self._employ(hand_in)

    def cancel(self, task: str) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        submissions = self._experiment.submissions
        self._employ(lambda name: submissions.cancel(self._stage.client(name), task, name))

    def redrive(self) -> None:
        """See tests.stateful.machine.DrivenWorld."""

        def ask(_: str) -> None:
            with suppress(LineCut):  # whether it happened, the trail will say
                api = self._stage.world.processes["api-1"]
                self._stage.world.request(api, "redrive", _redrive_all, timeout_s=REQUEST_TIMEOUT_S)

        self._employ(ask)

    def begin(self, fault: Fault) -> bool:
        """See tests.stateful.machine.DrivenWorld."""
        state = self._experiment.nemesis.add(Strike(fault, AtStart()))
        self._do(lambda: self._strike(state))
        if state.bit_ns is None:
            self._experiment.nemesis.states.remove(state)
            return False
        self._open[fault] = state
        return True

    def end(self, fault: Fault) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        state = self._open.pop(fault)
        self._do(lambda: self._lift(state))

    def pass_time(self, seconds: float) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        self._do(lambda: self._stage.sleep(seconds))

    def step_clock(self, process: str, seconds: float) -> None:
        """The wall clock of a process is set."""
        self._stage.world.processes[process].skew.wall_s += seconds

    def judgement(self) -> Judgement:
        """What the judges say of the history so far."""
        terms = self._simulation.terms
        return judge(Recorded(History(self._run_of.history())), claims=terms.claims, policy=terms.policy)

    def finish(self) -> Simulated:
        """Calm, account and verdicts."""
        if self._told is None:
            self._fiber.switch(None)
        assert self._told is not None, "the world has come to its end"
        return self._told

    def _run(self, plan: WorldPlan) -> None:
        with silence():
            self._run_of = WorldRun(plan, self._simulation, drive=lambda *_: _Machine(self))
            self._stage: SimulatedStage = self._run_of.stage
            self._experiment: Experiment = self._run_of.experiment
            self._told = self._run_of.carry_out()

    def next_step(self) -> Step | None:
        """Called in a fiber of the world: the next thing to happen, None at the end."""
        self._fiber = getcurrent()
        step: Step | None = self._outside.switch()
        return step

    def _do(self, step: Step) -> None:
        self._fiber.switch(step)
        if self._told is not None:
            raise AssertionError(f"the world ended by itself: {self._told.problems}")

    def _employ(self, work: Callable[[str], object]) -> None:
        self._clients += 1
        name = f"client-{self._clients}"
        self.flows.append(self._stage.spawn(name, lambda: work(name)))

    def _strike(self, state: StrikeState) -> None:
        with suppress(ChaosError):  # there is nothing to strike
            self._experiment.nemesis.strike(state)

    def _lift(self, state: StrikeState) -> None:
        self._experiment.nemesis.lift(state)
        self._experiment.nemesis.close(state)


class _Machine:
    """A `scenarios.experiment.driver.Driver`: the steps of a state machine, one after the other."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world

    def start(self) -> None:
        """It is asked for the first step when the storm has begun."""

    def await_end(self) -> None:
        while (step := self._world.next_step()) is not None:
            step()
        for flow in self._world.flows:
            flow.join()

    def stop(self) -> None:
        """Nothing: its clients have ended."""

    def problems(self) -> Sequence[str]:
        return ()


def _redrive_all(server: object) -> None:
    assert isinstance(server, Api)
    with suppress(ReferenceSystemError):  # an answer that says so; whether it happened, the trail will say
        for letter in read(server.engine, lambda connection: dead_letter.open_letters(connection, rows_max=100)):
            server.redrive(letter.id)

"""The reference in the simulated world, driven step by step: between two steps the world stands still."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random

from greenlet import getcurrent, greenlet

from chaos.faults import Fault, KillProcess
from chaos.simulation.kernel.clock import ns
from chaos.simulation.network.network import LineCut
from reference_impl.errors import ReferenceSystemError
from reference_impl.http.service import Api
from reference_impl.rows import dead_letter
from reference_impl.rows.transactions import read
from scenarios.contract.system import Submit
from scenarios.judging.judge import Judgement, judge
from scenarios.record.history import History, Recorded
from scenarios.simulated.faults import Injection, injection
from scenarios.simulated.run import Simulated, WorldRun, silence
from scenarios.simulated.system import Simulation, Sizes
from scenarios.simulated.worlds.plan import DelayPlan, WorldPlan

SIZES = Sizes(apis=1, relays=1, workers=2, slots=1, rescuers=2)
READ_EVERY_S = 0.2
REQUEST_TIMEOUT_S = 5.0
TRIES_MAX = 100
PATIENCE_S = 0.5

Step = Callable[[], None]


class SimulatedWorld:
    """A world whose storm is what it is told to do; the rest of a run, calm and account and verdicts, is that of any world.

    It runs in a greenlet of its own. One of its fibers comes out to fetch the next step, does it, and comes out again.
    """

    def __init__(self, simulation: Simulation, seed: int) -> None:
        self._simulation = simulation
        self._outside = getcurrent()
        self._clients = 0
        self._open: dict[Fault, Injection] = {}
        self._chance = Random(f"{seed}/machine")
        plan = WorldPlan(
            "machine", seed, tasks=(), sizes=SIZES, delays=DelayPlan("erratic", slow_share=0.5, slow_s=0.5)
        )
        self._host = greenlet(lambda: self._run(plan))
        self._fiber: greenlet = self._host
        self._told: Simulated | None = None
        self._host.switch()

    def submit(self, task: str, payload: Mapping[str, object]) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        submit = Submit(task, payload, key=task)

        def hand_in(name: str) -> None:
            for _ in range(TRIES_MAX):
                if self._run_of.clients.submit(submit, name, self._api).kind == "ok":
                    return
                self._run_of.world.scheduler.rest(ns(PATIENCE_S))

        self._employ(hand_in)

    def cancel(self, task: str) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        clients = self._run_of.clients
        if task in clients.ids:
            self._employ(lambda name: clients.cancel(task, name, self._api))

    def redrive(self) -> None:
        """See tests.stateful.machine.DrivenWorld."""

        def ask(_: str) -> None:
            with suppress(LineCut):  # whether it happened, the trail will say
                self._run_of.world.request(self._api, "redrive", _redrive_all, timeout_s=REQUEST_TIMEOUT_S)

        self._employ(ask)

    def begin(self, fault: Fault) -> bool:
        """See tests.stateful.machine.DrivenWorld."""
        struck = injection(self._run_of.world, fault, self._chance)
        if not struck.is_possible():
            return False
        self._open[fault] = struck
        self._do(lambda: self._begin(fault, struck))
        return True

    def end(self, fault: Fault) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        struck = self._open.pop(fault)
        self._do(lambda: self._end(fault, struck))

    def pass_time(self, seconds: float) -> None:
        """See tests.stateful.machine.DrivenWorld."""
        self._do(lambda: self._run_of.world.scheduler.rest(ns(seconds)))

    def step_clock(self, process: str, seconds: float) -> None:
        """Somebody sets the wall clock of a process."""
        self._run_of.world.processes[process].skew.wall_s += seconds

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
            self._run_of = _Driven(plan, self._simulation, self._next_step)
            self._api = self._run_of.world.processes["api-1"]
            self._told = self._run_of.carry_out()

    def _next_step(self) -> Step | None:
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
        self._run_of.clients.employ(name, lambda: work(name))

    def _begin(self, fault: Fault, struck: Injection) -> None:
        record = self._run_of.events.record
        record("fault.begin", actor="lab", fault=fault.name, target=struck.target)
        struck.begin()
        if isinstance(fault, KillProcess):
            record("crash", actor=struck.target)
        record("fault.bit", actor="lab", fault=fault.name, target=struck.target, detail=struck.evidence())

    def _end(self, fault: Fault, struck: Injection) -> None:
        record = self._run_of.events.record
        record("fault.end", actor="lab", fault=fault.name, target=struck.target)
        if isinstance(fault, KillProcess):
            record("restart", actor=struck.target)
        struck.end()
        record("fault.healed", actor="lab", fault=fault.name, target=struck.target)


class _Driven(WorldRun):
    def __init__(self, plan: WorldPlan, simulation: Simulation, next_step: Callable[[], Step | None]) -> None:
        super().__init__(plan, simulation)
        self._next_step = next_step

    def storm(self) -> None:
        self.clients.start((), read_every_s=READ_EVERY_S)
        while (step := self._next_step()) is not None:
            step()
        while not self.clients.are_done:
            self.world.scheduler.wait(self.clients.done)


def _redrive_all(server: object) -> None:
    assert isinstance(server, Api)
    with suppress(ReferenceSystemError):  # an answer that says so; whether it happened, the trail will say
        for letter in read(server.engine, lambda connection: dead_letter.open_letters(connection, rows_max=100)):
            server.redrive(letter.id)

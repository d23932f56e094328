"""The simulated stage: fibers on a virtual clock, and a world of simulated services and processes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random

from sqlalchemy import Engine

from chaos.faults import Fault
from chaos.injection import Evidence, Injection, Interruption
from chaos.simulation.injectors import injection
from chaos.simulation.kernel.clock import EPOCH_NS, ns
from chaos.simulation.network.delays import Delays
from chaos.simulation.network.network import LineCut
from chaos.simulation.world import SimulatedProcess, World
from scenarios.contract.http_answers import TIMEOUT_S
from scenarios.contract.system import Account, Operation, Outcome
from scenarios.experiment.outside import Outside
from scenarios.experiment.stage import Death
from scenarios.record.history import Event
from scenarios.simulated.call_faults import CallFaults
from scenarios.simulated.coverage import PHASE_OF_POINT, Coverage
from scenarios.simulated.flows import FiberFlow, FiberSignal
from scenarios.simulated.inspection import Answer
from scenarios.simulated.record import EventList
from scenarios.simulated.rest import await_rest
from scenarios.simulated.system import Simulation


class SimulatedClient:
    """A client of one simulated API."""

    def __init__(
        self, world: World, simulation: Simulation, api: SimulatedProcess, note: Callable[[Answer], None]
    ) -> None:
        self._world = world
        self._simulation = simulation
        self._api = api
        self._note = note

    def invoke(self, operation: Operation) -> Outcome:
        """Send the request over the simulated network; the calling fiber waits for the answer."""
        asked_ns = self._world.now_ns
        outcome = self._answer(operation)
        self._note(Answer(operation, outcome, asked_ns, self._world.now_ns))
        return outcome

    def _answer(self, operation: Operation) -> Outcome:
        def serve(server: object) -> Outcome:
            return self._simulation.serve(server, operation)

        try:
            return self._world.request(self._api, type(operation).__name__, serve, timeout_s=TIMEOUT_S)
        except LineCut as cut:
            return Outcome("fail" if cut.how == "refused" else "info", detail=f"{cut.how} by {self._api.name}")

    def close(self) -> None:
        """Without effect: a simulated client has no connection."""


class SimulatedStage:
    """A `scenarios.experiment.stage.Stage` of fibers.

    `calls`: number of calls by fiber at the start of the account phase: later calls are the lab's own, or those of a system that comes to
    rest. `work_left`: what it had not finished in time. `answers`: to all clients, in their order.
    """

    def __init__(
        self,
        world: World,
        simulation: Simulation,
        engine: Engine,
        call_faults: CallFaults,
        coverage: Coverage,
        api_numbers: Mapping[str, int],
        *,
        checks_fences: bool = True,
        awaits_rest: bool = False,
    ) -> None:
        self.world = world
        self.events = EventList(world.scheduler)
        self.outside = Outside(self.events, self.now_ns, self.signal, checks_fences=checks_fences)
        self.phases_ns: dict[str, int] = {}
        self.calls: dict[str, int] = {}
        self.work_left: list[str] = []
        self._awaits_rest = awaits_rest
        self.answers: list[Answer] = []
        self._simulation = simulation
        self._engine = engine
        self._call_faults = call_faults
        self._coverage = coverage
        self._api_numbers = api_numbers
        self._problems: list[str] = []
        self._on_death: Callable[[Death], None] | None = None
        self._account = Account()
        self._account_is_of = -1

    def now_ns(self) -> int:
        """Virtual nanoseconds since the start of the world."""
        return self.world.scheduler.now_ns

    def since_start_ns(self, at_ns: int) -> int:
        """The same instant: a world has one clock."""
        return at_ns

    def sleep(self, seconds: float) -> None:
        """Block this fiber."""
        self.world.scheduler.rest(ns(seconds))

    def spawn(self, name: str, body: Callable[[], None]) -> FiberFlow:
        """Start a fiber of the lab."""
        return FiberFlow(self.world, name, body, self._problems.append)

    def signal(self) -> FiberSignal:
        """A condition variable of fibers."""
        return FiberSignal(self.world.scheduler)

    def records(self, source: str) -> EventList:
        """One list for all sources: a world has one clock and one thread."""
        return self.events

    def say(self, text: str) -> None:
        """Without effect: no one watches a world."""

    def begin(self, phase: str) -> None:
        """Record the phase. Before the account, also record the number of calls, and await the rest of the system if the plan says so."""
        self.phases_ns[phase] = self.now_ns()
        if phase == "account":
            self.calls = dict(self.world.network.calls)
            if self._awaits_rest:
                self.work_left = await_rest(self.world.scheduler, self._simulation, self._engine)

    def client(self, name: str) -> SimulatedClient:
        """A client of the API that the plan gives it; by default, of the first."""
        apis = [process for process in self.world.processes.values() if process.plan.role == "api"]
        api = apis[self._api_numbers.get(name, 0) % len(apis)]
        return SimulatedClient(self.world, self._simulation, api, self.answers.append)

    def check_plugin(self) -> None:
        """Without effect: the simulation runs in this process."""

    def abandon_plugin(self) -> None:
        """Without effect: the simulation runs in this process."""

    def start_processes(self) -> None:
        """Start every process of the world."""
        for process in self.world.processes.values():
            self.world.start(process)

    def stop_processes(self, timeout_s: float) -> None:
        """Without effect: they end with their world."""

    def check_processes(self) -> None:
        """Without effect: the end of a process is reported at once."""

    def restart(self, process: str) -> None:
        """Start its next incarnation."""
        self.world.start(self.world.processes[process])

    def is_alive(self, process: str) -> bool:
        """Whether it runs; true for a paused one."""
        return self.world.processes[process].is_alive()

    def watch_processes(self, on_death: Callable[[Death], None]) -> None:
        """From now on report deaths."""
        self._on_death = on_death

    def unwatch_processes(self) -> None:
        """Stop reporting deaths."""
        self._on_death = None

    def note_gone(self, process: SimulatedProcess, why: str) -> None:
        """Called by the world at the instant at which a process ends by itself."""
        if self._on_death is not None:
            self._on_death(Death(process.name, why, self.now_ns()))

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """One role for each process."""
        return {name: (process.plan.role,) for name, process in self.world.processes.items()}

    def injection(self, fault: Fault, number: int) -> Injection:
        """The fault in this world, with its phases counted for the coverage."""
        chance = Random(f"{self.world.seed}/strike-{number + 1}")
        return _Covered(injection(fault, self.world, chance), fault, self)

    def own_faults_pending(self) -> bool:
        """Whether call faults still wait for their call."""
        return bool(self._call_faults.missed())

    def holds_down(self, process: str) -> bool:
        """Whether a call fault has killed it."""
        return self._call_faults.holds_down(process)

    def calm(self) -> None:
        """End call faults and drawn delays, and wait until every call fault has healed."""
        self.world.network.call_faults = {}
        self.world.network.delays = Delays()
        while not self._call_faults.are_healed:
            self.world.scheduler.wait(self._call_faults.healed)

    def ended_attempts(self) -> tuple[Collection[str], Collection[str]]:
        """Nothing: every simulated system keeps an account."""
        return (), ()

    def account(self) -> Account:
        """The account; read again only after a commit."""
        if self._account_is_of != self.world.database.commits:
            self._account_is_of = self.world.database.commits
            self._account = self._simulation.account(self._engine)
        return self._account

    def places(self) -> Mapping[str, str]:
        """Nowhere: the journey of a simulated world says all."""
        return {}

    def trail(self) -> Sequence[Event]:
        """The simulation's trail."""
        return self._simulation.trail(self._engine, EPOCH_NS)

    def interruptions(self) -> Sequence[Interruption]:
        """None: the faults that end a simulated connection excuse what they interrupt."""
        return ()

    def problems(self) -> Sequence[str]:
        """Fibers that ended early, a sentence each."""
        return tuple(self._problems)

    def phases_at(self, target: str) -> list[str]:
        """The current phases of a task's life of the fibers of a process (of all, if the target is no process)."""
        process = target.partition("→")[0]
        held = [PHASE_OF_POINT[point] for point in self.outside.held_at(process) if point in PHASE_OF_POINT]
        return [*self._coverage.phases(self.world, target), *held]

    def count(self, fault: str, phases: Sequence[str]) -> None:
        """Count a strike of the fault in these phases."""
        self._coverage.add(fault, phases)


class _Covered:
    """An injection that counts the phases in which it strikes."""

    def __init__(self, inner: Injection, fault: Fault, stage: SimulatedStage) -> None:
        self.target = inner.target
        self.end = inner.end
        self.await_healed = inner.await_healed
        self._inner = inner
        self._fault = fault
        self._stage = stage
        self._phases: list[str] = []

    def begin(self) -> None:
        if not self._fault.waits_for_traffic:
            self._phases = self._stage.phases_at(self.target)
        self._inner.begin()

    def await_bite(self, timeout_s: float) -> Evidence:
        evidence = self._inner.await_bite(timeout_s)
        if self._fault.waits_for_traffic:
            self._phases = self._stage.phases_at(self.target)
        self._stage.count(self._fault.name, self._phases)
        return evidence

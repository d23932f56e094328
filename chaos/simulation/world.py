"""A simulated world: three services, processes on fibers, and the lines between them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol, TypeVar

from sqlalchemy import Engine

from chaos.simulation.broker.broker import BrokerServer
from chaos.simulation.broker.client import BrokerErrorFactory, SimulatedBroker
from chaos.simulation.cache import CacheErrorFactory, CacheServer, SimulatedCache
from chaos.simulation.database.database import DatabaseServer
from chaos.simulation.database.driver import DatabaseConnection
from chaos.simulation.database.pool import simulated_engine
from chaos.simulation.database.statements import Tables
from chaos.simulation.kernel.clock import EPOCH_NS, NeverStops, SimulatedClock, Skew, ns
from chaos.simulation.kernel.entropy import SimulatedEntropy
from chaos.simulation.kernel.scheduler import Fiber, Life, Scheduler, Waiters
from chaos.simulation.kernel.trace import Trace
from chaos.simulation.network.call_faults import CallFault, CutAtCall
from chaos.simulation.network.delays import Delays
from chaos.simulation.network.network import Apply, Line, LineCut, Network, Service

T = TypeVar("T")

_NONE: Mapping[int, CallFault] = {}

Loop = tuple[str, Callable[[], object]]


class ErrorFactory(BrokerErrorFactory, CacheErrorFactory, Protocol):
    """Makes the errors and answers of the system under test. The system's plug-in provides it: this package knows no system."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The time-outs and the pool size of a system."""

    io_timeout_s: float
    pool_size: int
    lock_wait_s: float = 50.0  # InnoDB's default


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one incarnation of a process, in place of drivers, threads and clocks."""

    name: str
    clock: SimulatedClock
    entropy: SimulatedEntropy
    stop: NeverStops
    engine: Engine
    broker: SimulatedBroker
    cache: SimulatedCache


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """A process to start: `enter` takes its ports and returns its loops, one fiber each, and the object that answers requests."""

    name: str
    role: str
    enter: Callable[[Ports], tuple[Sequence[Loop], object]]


@dataclass(slots=True, eq=False)
class SimulatedProcess:
    """A process, through all its incarnations."""

    plan: ProcessPlan
    lines: Mapping[str, Line]
    skew: Skew
    incarnation: int = 0
    life: Life | None = None
    server: object = None
    broker: SimulatedBroker | None = None
    connections: list[DatabaseConnection] = field(default_factory=list)
    requests: list[Waiters] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the process."""
        return self.plan.name

    def is_alive(self) -> bool:
        """Whether it runs; true for a paused one."""
        return self.life is not None and self.life.alive

    def is_paused(self) -> bool:
        """Whether its fibers are stopped."""
        return self.life is not None and self.life.paused


class World:
    """A simulated world: `add` and `start` processes, `spawn` the lab's fibers, run its scheduler, and close it.

    `apply` carries out call faults; `when_gone` is called with a process that ended by itself, and the reason.
    """

    def __init__(
        self,
        seed: str,
        tables: Tables,
        errors: ErrorFactory,
        bounds: Bounds,
        delays: Delays,
        *,
        call_faults: Mapping[str, Mapping[int, CallFault]],
        apply: Apply,
        when_gone: Callable[[SimulatedProcess, str], None],
    ) -> None:
        self.seed = seed
        self.scheduler = Scheduler()
        self.trace = Trace()
        self.network = Network(self.scheduler, delays, self.trace, apply, call_faults)
        lag = Random(f"{seed}/lag")
        self.database = DatabaseServer(
            self.scheduler, tables, epoch_us=EPOCH_NS // 1000, lock_wait_ns=ns(bounds.lock_wait_s)
        )
        self.broker = BrokerServer(self.scheduler)
        self.cache = CacheServer(self.scheduler, epoch_ns=EPOCH_NS, lag_ns=lambda: lag.randrange(1_000_000, 50_000_000))
        self.outside = Service("outside")
        self.services: Mapping[str, Service] = {
            service.name: service for service in (self.database, self.broker, self.cache, self.outside)
        }
        self.processes: dict[str, SimulatedProcess] = {}
        self._errors = errors
        self._bounds = bounds
        self.when_gone = when_gone
        self._lab = self.scheduler.live(Life("lab", _raise))

    @property
    def now_ns(self) -> int:
        """Nanoseconds since the start of the world."""
        return self.scheduler.now_ns

    def add(self, plan: ProcessPlan, skew: Skew) -> SimulatedProcess:
        """A process, not yet started."""
        lines = {name: Line(self.network, service) for name, service in self.services.items()}
        process = self.processes[plan.name] = SimulatedProcess(plan, lines, skew)
        return process

    def start(self, process: SimulatedProcess) -> None:
        """Start its next incarnation."""
        assert not process.is_alive(), "only a process that does not run can be started"
        process.incarnation += 1
        name = process.name if process.incarnation == 1 else f"{process.name}.{process.incarnation}"
        life = process.life = self.scheduler.live(Life(name, lambda _, error: self._break(process, error)))
        ports = self._ports(process, name)

        def enter() -> None:
            loops, process.server = process.plan.enter(ports)
            for loop, run in loops:
                self.scheduler.spawn(f"{name}/{loop}", life, run)

        self.scheduler.spawn(f"{name}/main", life, enter)

    def kill(self, process: SimulatedProcess) -> None:
        """kill -9: its fibers end, messages already sent stay in transit, and the kernel closes its connections."""
        assert process.life is not None, "it was started"
        self.scheduler.kill(process.life)
        process.server = None
        for connection in process.connections:
            connection.disconnect()
        process.connections.clear()
        if process.broker is not None:
            process.broker.close()
        for waiting in process.requests:
            self.scheduler.wake(waiting)
        process.requests.clear()

    def cut(self, process: SimulatedProcess, service: str) -> None:
        """Break every connection of the process to that service."""
        if service == "mysql":
            for connection in process.connections:
                connection.disconnect()
            process.connections.clear()
        elif service == "rabbitmq" and process.broker is not None:
            process.broker.cut("the connection was reset")

    def process_of(self, fiber: Fiber) -> SimulatedProcess | None:
        """The process of the fiber; None: a fiber of the lab."""
        return next((process for process in self.processes.values() if process.life is fiber.life), None)

    def spawn(self, name: str, target: Callable[[], object]) -> Fiber:
        """A new fiber of the lab."""
        return self.scheduler.spawn(name, self._lab, target)

    def request(self, process: SimulatedProcess, what: str, serve: Callable[[object], T], *, timeout_s: float) -> T:
        """Send a request to a process over the network; the calling fiber, a client's, waits for the answer.

        Raises:
            LineCut: no answer: `refused` if no process listens, else the request may have taken effect.
        """
        scheduler = self.scheduler
        fiber = scheduler.check_alive()
        fiber.calls += 1
        call_fault = self.network.call_faults.get(fiber.name, _NONE).get(fiber.calls)
        cut = call_fault.side if isinstance(call_fault, CutAtCall) else ""
        if call_fault is not None and cut:
            self.network.apply(fiber, process.name, what, call_fault)
        scheduler.rest(self.network.delays.leg_ns(fiber, 0))
        if cut == "before":
            raise LineCut("unsent")
        if process.server is None or process.life is None:
            raise LineCut("refused")
        answer: list[T] = []
        waiting: Waiters = []

        def work() -> None:
            answer.append(serve(process.server))
            scheduler.wake(waiting)

        scheduler.spawn(f"{process.life.name}/{fiber.name}:{fiber.calls}", process.life, work)
        process.requests.append(waiting)
        scheduler.wait(waiting, ns(timeout_s))
        if waiting in process.requests:
            process.requests.remove(waiting)
        self.trace.note(scheduler.now_ns, fiber.name, process.name, what, "" if answer else "no answer")
        if not answer or cut == "after":
            raise LineCut("unanswered")
        scheduler.rest(self.network.delays.leg_ns(fiber, 1))
        return answer[0]

    def _ports(self, process: SimulatedProcess, name: str) -> Ports:
        scheduler, timeout_ns = self.scheduler, ns(self._bounds.io_timeout_s)
        clock = SimulatedClock(scheduler, process.skew)

        def connect() -> DatabaseConnection:
            connection = DatabaseConnection(self.database, process.lines["mysql"], timeout_ns=timeout_ns)
            process.connections.append(connection)
            return connection

        process.broker = SimulatedBroker(self.broker, process.lines["rabbitmq"], self._errors, timeout_ns=timeout_ns)
        return Ports(
            name=process.name,
            clock=clock,
            entropy=SimulatedEntropy(f"{self.seed}/{name}", clock.wall_ns),
            stop=NeverStops(clock),
            engine=simulated_engine(scheduler, connect, pool_size=self._bounds.pool_size, pool_timeout_ns=timeout_ns),
            broker=process.broker,
            cache=SimulatedCache(self.cache, process.lines["redis"], self._errors, timeout_ns=timeout_ns),
        )

    def _break(self, process: SimulatedProcess, error: Exception) -> None:
        """End a process after an error in one of its fibers."""
        self.kill(process)
        self.when_gone(process, f"{type(error).__name__}: {error}"[:200])


def _raise(fiber: Fiber, error: Exception) -> None:
    raise AssertionError(f"the lab's own fiber {fiber.name!r} broke") from error

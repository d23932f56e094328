"""How each fault of the lab's vocabulary is done to a simulated world: begun, seen to bite, lifted."""

from collections.abc import Callable
from random import Random

from chaos.errors import FaultDidNotBite
from chaos.faults import (
    DegradeNetwork,
    FailOverRedis,
    Fault,
    KillProcess,
    KillService,
    PauseProcess,
    SwallowAck,
    WithholdConfirm,
)
from chaos.injection import Evidence, Injection, Message
from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Waiters
from chaos.simulation.world import SimulatedProcess, World


class _AtOnce:
    """A fault that is there as soon as it is done."""

    def __init__(self, target: str, do: Callable[[], str], undo: Callable[[], None]) -> None:
        self.target = target
        self._do = do
        self._undo = undo
        self._seen = ""

    def begin(self) -> None:
        self._seen = self._do()

    def await_bite(self, timeout_s: float) -> Evidence:
        return Evidence(self._seen)

    def end(self) -> None:
        if self._seen:
            self._seen = ""
            self._undo()

    def await_healed(self, timeout_s: float) -> None:
        """It healed when it was lifted."""


def injection(fault: Fault, world: World, chance: Random) -> Injection:
    """The fault, ready to begin. `chance` decides what a fault leaves open: what a killed broker loses, how long a failover takes.

    Raises:
        FaultDidNotBite: there is nothing to strike.
    """
    match fault:
        case KillProcess(name):
            victim = _process(world, fault, name)
            return _AtOnce(victim.name, lambda: _kill(world, victim), lambda: _start(world, victim))
        case PauseProcess(name):
            sleeper = _process(world, fault, name)
            if sleeper.is_paused():
                raise _nothing(fault, name)
            return _AtOnce(sleeper.name, lambda: _pause(world, sleeper), lambda: _resume(world, sleeper))
        case KillService(name):
            service = world.services[name]
            if not service.up:
                raise _nothing(fault, name)
            return _AtOnce(name, lambda: _kill_service(world, name, chance), service.start)
        case FailOverRedis():
            if not world.cache.up:
                raise _nothing(fault, "redis")
            return _AtOnce("redis", lambda: _fail_over(world, chance), lambda: None)
        case SwallowAck(name, nth):
            return _Swallow(world, _process(world, fault, name), nth)
        case WithholdConfirm(name, nth):
            return _Withhold(world, _process(world, fault, name), nth)
        case DegradeNetwork(name, service, kind, value):
            return _degraded(world, _process(world, fault, name), service, kind, value)
    raise FaultDidNotBite(fault.name, "?", "the simulated world cannot do it")


def _nothing(fault: Fault, target: str) -> FaultDidNotBite:
    return FaultDidNotBite(fault.name, target, "there is nothing left to strike")


def _process(world: World, fault: Fault, name: str) -> SimulatedProcess:
    found = world.processes.get(name)
    if found is None:
        raise FaultDidNotBite(fault.name, name, "no process here has that name")
    if not found.is_alive():
        raise _nothing(fault, name)
    return found


def _kill(world: World, process: SimulatedProcess) -> str:
    world.kill(process)
    return "its fibers are dead"


def _start(world: World, process: SimulatedProcess) -> None:
    if not process.is_alive():
        world.start(process)


def _pause(world: World, process: SimulatedProcess) -> str:
    assert process.life is not None, "it is alive"
    world.scheduler.pause(process.life)
    return "its fibers stand still"


def _resume(world: World, process: SimulatedProcess) -> None:
    if process.life is not None and process.is_paused():
        world.scheduler.resume(process.life)


def _kill_service(world: World, service: str, chance: Random) -> str:
    lost = [chance.random() < share for share in (0.5, 0.5, 0.3)]
    if service == "rabbitmq":
        world.broker.kill_losing(unconfirmed=lost[0], acknowledgements=lost[1], young_queues=lost[2])
    else:
        world.services[service].kill()
    return "nobody listens any more"


def _fail_over(world: World, chance: Random) -> str:
    world.cache.kill()
    world.scheduler.rest(ns(chance.uniform(0.6, 2.5)))  # until the Sentinels agree that it is gone
    world.cache.fail_over()
    world.cache.start()
    return "the replica has taken over"


class _Watching:
    """A fault that waits for traffic on the line of a process to RabbitMQ."""

    name = ""

    def __init__(self, world: World, process: SimulatedProcess, nth: int) -> None:
        self.target = process.name
        self._world = world
        self._process = process
        self._line = process.lines["rabbitmq"]
        self._left = nth
        self._seen: Evidence | None = None
        self._bitten: Waiters = []

    def begin(self) -> None:
        self._line.watch = self._look

    def await_bite(self, timeout_s: float) -> Evidence:
        if self._seen is None:
            self._world.scheduler.wait(self._bitten, ns(timeout_s))
        if self._seen is None:
            raise FaultDidNotBite(self.name, self.target, "the traffic it waited for never came")
        return self._seen

    def end(self) -> None:
        self._line.watch = None

    def await_healed(self, timeout_s: float) -> None:
        """It healed when it was lifted."""

    def _look(self, what: str, subject: str) -> bool:
        raise NotImplementedError

    def _bite(self, words: str, subject: str) -> None:
        self._seen = Evidence(words, (Message(subject),))
        self._world.scheduler.wake(self._bitten)


class _Swallow(_Watching):
    name = SwallowAck.name

    def _look(self, what: str, subject: str) -> bool:
        if what != "ack":
            return False
        self._left -= 1
        if self._left != 0:
            return False
        self._bite("an ack swallowed, its connection cut", subject)
        return True


class _Withhold(_Watching):
    name = WithholdConfirm.name

    def end(self) -> None:
        super().end()
        if self._seen is not None:
            self._seen = None
            self._world.cut(self._process, "rabbitmq")
            self._line.unblock(losing_data=True)

    def _look(self, what: str, subject: str) -> bool:
        if what == "publish" and self._seen is None:
            self._left -= subject.count("\n") + 1  # a line for each message
            if self._left <= 0:
                self._line.block()
                self._bite("a publish arrived; from then on nothing passes", subject)
        return False


def _degraded(world: World, process: SimulatedProcess, service: str, kind: str, value: float) -> Injection:
    line = process.lines[service]
    target = f"{process.name}→{service}"

    def do() -> str:
        match kind:
            case "delay" | "slow":
                line.extra_ns = ns((value if kind == "delay" else 50.0) / 1000)
            case "blackhole":
                line.block()
            case "reset":
                world.cut(process, service)
            case "refuse":
                world.cut(process, service)
                line.refused = True
            case _:
                raise FaultDidNotBite(DegradeNetwork.name, target, f"the simulated network cannot do {kind!r}")
        return f"{kind} on {target}"

    def undo() -> None:
        line.extra_ns = 0
        line.refused = False
        if line.blocked:
            line.unblock()

    return _AtOnce(target, do, undo)

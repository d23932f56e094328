"""How each fault of the lab's vocabulary is done to a simulated world: begun, seen to bite, lifted."""

from collections.abc import Callable
from random import Random
from typing import Protocol

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
from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Waiters
from chaos.simulation.world import SimulatedProcess, World


class CannotStrike(Exception):
    """There is nothing here that this fault could strike."""


class Injection(Protocol):
    """One fault in this world. One that `lies_in_wait` bites when the traffic it waits for comes, and then wakes `bitten`."""

    target: str
    bitten: Waiters
    lies_in_wait: bool

    def is_possible(self) -> bool:
        """Whether there is something to strike now: nobody kills the dead."""

    def begin(self) -> None:
        """Do it, or lie in wait."""

    def evidence(self) -> str:
        """What was seen of its bite; "": it has not bitten yet."""

    def end(self) -> None:
        """Lift it; idempotent, and harmless if it never began."""


class _AtOnce:
    """A fault that is there as soon as it is done."""

    lies_in_wait = False

    def __init__(
        self, target: str, do: Callable[[], str], undo: Callable[[], None], is_possible: Callable[[], bool]
    ) -> None:
        self.target = target
        self.bitten: Waiters = []
        self.is_possible = is_possible
        self._do = do
        self._undo = undo
        self._seen = ""

    def begin(self) -> None:
        self._seen = self._do()

    def evidence(self) -> str:
        return self._seen

    def end(self) -> None:
        if self._seen:
            self._undo()


def injection(world: World, fault: Fault, chance: Random) -> Injection:
    """The fault, ready to begin. `chance` decides what a fault leaves open: what a killed broker loses, how long a failover takes.

    Raises:
        CannotStrike: the world has no such process.
    """
    match fault:
        case KillProcess(name):
            victim = _process(world, name)
            return _AtOnce(victim.name, lambda: _kill(world, victim), lambda: _start(world, victim), victim.is_alive)
        case PauseProcess(name):
            sleeper = _process(world, name)
            return _AtOnce(
                sleeper.name,
                lambda: _pause(world, sleeper),
                lambda: _resume(world, sleeper),
                lambda: sleeper.is_alive() and not sleeper.is_paused(),
            )
        case KillService(name):
            service = world.services[name]
            return _AtOnce(name, lambda: _kill_service(world, name, chance), service.start, lambda: service.up)
        case FailOverRedis():
            return _AtOnce("redis", lambda: _fail_over(world, chance), lambda: None, lambda: world.cache.up)
        case SwallowAck(name, nth):
            return _Swallow(world, _process(world, name), nth)
        case WithholdConfirm(name, nth):
            return _Withhold(world, _process(world, name), nth)
        case DegradeNetwork(name, service, kind, value):
            return _degraded(world, _process(world, name), service, kind, value)
    raise CannotStrike(f"the simulated world cannot do {fault.name}")


def _process(world: World, name: str) -> SimulatedProcess:
    found = world.processes.get(name) or next((one for one in world.processes.values() if one.plan.role == name), None)
    if found is None:
        raise CannotStrike(f"no process here is, or plays, {name!r}")
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


class _Swallow:
    lies_in_wait = True

    def __init__(self, world: World, process: SimulatedProcess, nth: int) -> None:
        self.target = process.name
        self.bitten: Waiters = []
        self._world = world
        self._line = process.lines["rabbitmq"]
        self._left = nth
        self._seen = ""
        self.is_possible = process.is_alive

    def begin(self) -> None:
        self._line.watch = self._look

    def evidence(self) -> str:
        return self._seen

    def end(self) -> None:
        self._line.watch = None

    def _look(self, what: str, subject: str) -> bool:
        if what != "ack":
            return False
        self._left -= 1
        if self._left != 0:
            return False
        self._seen = f"ack of {subject} swallowed, connection cut"
        self._world.scheduler.wake(self.bitten)
        return True


class _Withhold:
    lies_in_wait = True

    def __init__(self, world: World, process: SimulatedProcess, nth: int) -> None:
        self.target = process.name
        self.bitten: Waiters = []
        self._world = world
        self._process = process
        self._line = process.lines["rabbitmq"]
        self._left = nth
        self._seen = ""
        self.is_possible = process.is_alive

    def begin(self) -> None:
        self._line.watch = self._look

    def evidence(self) -> str:
        return self._seen

    def end(self) -> None:
        self._line.watch = None
        if self._seen:
            self._world.cut(self._process, "rabbitmq")
            self._line.unblock(losing_data=True)

    def _look(self, what: str, subject: str) -> bool:
        if what == "publish" and not self._seen:
            self._left -= subject.count("\n") + 1  # a line for each message
            if self._left <= 0:
                self._seen = "a publish arrived; from then on nothing passes"
                self._line.block()
                self._world.scheduler.wake(self.bitten)
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
                raise CannotStrike(f"the simulated network cannot do {kind!r}")
        return f"{kind} on {target}"

    def undo() -> None:
        line.extra_ns = 0
        line.refused = False
        if line.blocked:
            line.unblock()

    return _AtOnce(target, do, undo, process.is_alive)

"""The base classes of simulated injections: the steps of a fault's life, each done once, on the world's clock."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from chaos.errors import ChaosError, FaultDidNotBite, FaultDidNotHeal
from chaos.faults import Fault
from chaos.injection import Evidence, Message
from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Waiters
from chaos.simulation.world import SimulatedProcess, World


class SimulatedInjection(ABC):
    """A fault that bites as soon as it begins; `chaos.injection.Injection` describes the steps."""

    def __init__(self, fault: Fault, target: str, world: World) -> None:
        self.target = target
        self._fault = fault
        self._world = world
        self._begun = False
        self._ended = False

    def check(self) -> None:
        """Raise FaultDidNotBite if there is no target now."""
        if why := self._obstacle():
            raise FaultDidNotBite(self._fault.name, self.target, why)

    def begin(self) -> None:
        """Strike, or arm the fault.

        Raises:
            FaultDidNotBite: there is no target now.
        """
        self.check()
        self._begun = True
        self._strike()

    def await_bite(self, timeout_s: float) -> Evidence:
        """The evidence, at once."""
        return Evidence(self._words(), at_ns=self._world.now_ns)

    def end(self) -> None:
        """Lift the fault. Idempotent; does nothing if it never began."""
        if self._begun and not self._ended:
            self._ended = True
            self._lift()

    def await_healed(self, timeout_s: float) -> None:
        """Check that the target is healthy; in a simulated world it is as soon as the fault is lifted.

        Raises:
            FaultDidNotHeal: it is not.
        """
        if why := self._still_struck():
            raise FaultDidNotHeal(self._fault.name, self.target, why)

    @abstractmethod
    def _obstacle(self) -> str:
        """Why there is no target now; "" if there is one."""

    @abstractmethod
    def _strike(self) -> None:
        """Apply the fault."""

    @abstractmethod
    def _words(self) -> str:
        """The evidence as a sentence."""

    @abstractmethod
    def _lift(self) -> None:
        """Undo the fault."""

    def _still_struck(self) -> str:
        return ""


class TrafficInjection(SimulatedInjection):
    """A fault that watches the line from one process to RabbitMQ, and bites at the operation that it waits for.

    `await_bite` may be called repeatedly: the fault stays armed after it raised.
    """

    def __init__(self, fault: Fault, process: SimulatedProcess, world: World) -> None:
        super().__init__(fault, f"{process.name}", world)
        self._process = process
        self._line = process.lines["rabbitmq"]
        self._bite: Evidence | None = None
        self._bitten: Waiters = []

    def await_bite(self, timeout_s: float) -> Evidence:
        """Block the calling fiber until the traffic comes.

        Raises:
            FaultDidNotBite: not in time.
        """
        scheduler = self._world.scheduler
        until_ns = scheduler.now_ns + ns(timeout_s)
        while self._bite is None and scheduler.now_ns < until_ns:
            scheduler.wait(self._bitten, until_ns - scheduler.now_ns)
        if self._bite is None:
            raise FaultDidNotBite(self._fault.name, self.target, "the traffic that it waits for has not come")
        return self._bite

    def _obstacle(self) -> str:
        return "" if self._process.is_alive() else "its process is dead"

    def _strike(self) -> None:
        self._line.watchers.append(self._watch)

    def _lift(self) -> None:
        self._line.watchers.remove(self._watch)

    def _words(self) -> str:
        return self._bite.words if self._bite is not None else ""

    def _bites(self, words: str, bodies: Sequence[bytes]) -> None:
        messages = tuple(Message(body.decode(errors="replace")) for body in bodies)
        self._bite = Evidence(words, messages, self._world.now_ns)
        self._world.scheduler.wake(self._bitten)

    @abstractmethod
    def _watch(self, operation: str, payload: Sequence[Any]) -> bool:
        """The watcher of the line, see `Watcher`."""


def process_of(world: World, name: str) -> SimulatedProcess:
    """The process of that name, or else the first that has that role.

    Raises:
        ChaosError: there is none.
    """
    found = world.processes.get(name) or next((one for one in world.processes.values() if one.plan.role == name), None)
    if found is None:
        raise ChaosError(f"no process here has the name or role {name!r}")
    return found

"""The way from a process to a service: requests and answers take their time, are held up, or are lost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Fiber, Scheduler, Waiters
from chaos.simulation.kernel.trace import Trace
from chaos.simulation.network.delays import BASE_NS, Delays
from chaos.simulation.network.mishaps import Cut, Kill, Mishap, Pause, Side, Undo

T = TypeVar("T")

REFUSED_NS = 200_000
"""How soon a client knows that nobody listens."""


How = Literal["refused", "unsent", "unanswered"]


_NEVER_UNDONE = ("connect", "rollback")


class LineCut(Exception):
    """No answer. `refused`: nothing was sent; `unsent`: it did not arrive; `unanswered`: it took effect, the answer was lost.

    `held_up`: it is not lost but on a way that is blocked, so an unsent request may still arrive when the line is open again.
    """

    def __init__(self, how: How, *, held_up: bool = False) -> None:
        super().__init__(how)
        self.how = how
        self.held_up = held_up


class Undone(Exception):
    """The service answers that it undid what was asked, for a reason that lies in other clients: a code of MySQL's."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True)
class Service:
    """A service as the network sees it. `epoch` counts its lives: what was under way to an earlier one is lost."""

    name: str
    up: bool = True
    epoch: int = 0

    def kill(self) -> None:
        """Nobody listens any more, and every connection is gone."""
        self.up = False
        self.epoch += 1

    def start(self) -> None:
        """It listens again."""
        self.up = True


Strike = Callable[[Fiber, str, str, Mishap], None]
"""Carries out a mishap of this fiber at this call of this service."""


@dataclass(slots=True)
class Network:
    """What all lines have in common. `strike` kills or pauses the process of a fiber, and tells the history."""

    scheduler: Scheduler
    delays: Delays
    trace: Trace
    strike: Strike
    mishaps: Mapping[str, Mapping[int, Mishap]] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    """By fiber: how many calls it made."""

    def count_call(self, fiber: Fiber) -> Mishap | None:
        """One more call of the fiber; what befalls it."""
        fiber.calls += 1
        self.calls[fiber.name] = fiber.calls
        mine = self.mishaps.get(fiber.name)
        return None if mine is None else mine.get(fiber.calls)


class Line:
    """From one process to one service. `blocked`: nothing passes, and neither end is told; `refused`: nobody seems to listen.

    `extra_ns` is added to every way. `watch` is told of every request, by what it is and what it is about: of one that is answered
    when it has taken effect, of one that is not before it is sent, and may then have it swallowed.
    """

    def __init__(self, network: Network, service: Service) -> None:
        self.network = network
        self.service = service
        self.blocked = False
        self.refused = False
        self.extra_ns = 0
        self.watch: Callable[[str, str], bool] | None = None
        self._held_up: Waiters = []
        self._late: list[tuple[Callable[[], None], bool]] = []

    def block(self) -> None:
        """Nothing passes from now on."""
        self.blocked = True

    def unblock(self, *, losing_data: bool = False) -> None:
        """What was held up goes on; or only the news that connections are gone, where the data in them was thrown away."""
        self.blocked = False
        scheduler = self.network.scheduler
        scheduler.wake(self._held_up)
        late, self._late = self._late, []
        for arrive, is_data in late:
            if not (is_data and losing_data):
                scheduler.at(scheduler.now_ns + BASE_NS, arrive)

    def arrive(self, action: Callable[[], None], *, not_before_ns: int = 0, is_data: bool = True) -> int:
        """Have something arrive at the other end that nobody waits for; when it will, as far as is known now.

        `is_data`: it is carried by a connection, not the news of a connection's end.
        """
        scheduler = self.network.scheduler
        if self.blocked:
            self._late.append((action, is_data))
            return not_before_ns
        arrives_ns = max(scheduler.now_ns + BASE_NS, not_before_ns)
        scheduler.at(arrives_ns, lambda: self._late.append((action, is_data)) if self.blocked else action())
        return arrives_ns

    def ask(
        self,
        what: str,
        act: Callable[[], T],
        *,
        patience_ns: int,
        connected_epoch: int | None = None,
        subject: str = "",
    ) -> T:
        """What `act` returns, done at the service; the calling fiber waits for the request and the answer to get through.

        `connected_epoch`: the life of the service in which the connection was made.

        Raises:
            LineCut: no answer came; what that means is in `how`.
            Undone: a mishap of the database's.
            Died: the process that asks is dead.
        """
        network = self.network
        fiber = network.scheduler.check_alive()
        mishap = network.count_call(fiber)
        try:
            if mishap is not None:
                self._befall(fiber, what, mishap, "before")
            epoch = self._send(fiber, patience_ns, connected_epoch)
            value = act()
            network.trace.note(network.scheduler.now_ns, fiber.name, self.service.name, what, subject)
            if mishap is not None and network.mishaps:  # else calm has come in between
                self._befall(fiber, what, mishap, "after")
            if self.watch is not None:
                self.watch(what, subject)
            network.scheduler.rest(network.delays.leg_ns(fiber, 1) + self.extra_ns)
            if self.blocked:
                self._pass(patience_ns, "unanswered")
            if self.service.epoch != epoch:
                raise LineCut("unanswered")
            return value
        except LineCut as cut:
            network.trace.note(network.scheduler.now_ns, fiber.name, self.service.name, f"{what}: {cut.how}", subject)
            raise

    def _send(self, fiber: Fiber, patience_ns: int, connected_epoch: int | None) -> int:
        """Have the request arrive; in which life of the service it did."""
        network, service = self.network, self.service
        if not service.up or self.refused or (connected_epoch is not None and connected_epoch != service.epoch):
            network.scheduler.rest(REFUSED_NS)
            raise LineCut("refused")
        epoch = service.epoch
        network.scheduler.rest(network.delays.leg_ns(fiber, 0) + self.extra_ns)
        if self.blocked:
            self._pass(patience_ns, "unsent")
        if service.epoch != epoch:
            raise LineCut("unsent")
        return epoch

    def begin(self, what: str) -> Fiber:
        """The calling fiber sends something of which no answer comes; a mishap may befall it all the same.

        Raises:
            LineCut: the connection broke: it never arrives.
        """
        fiber = self.network.scheduler.check_alive()
        mishap = self.network.count_call(fiber)
        if mishap is not None:
            self._befall(fiber, what, mishap, "before")
        return fiber

    def sent(self, fiber: Fiber, what: str) -> None:
        """What `begin` began is on its way: the last moment of the call."""
        mishap = self._mishap(fiber)
        if mishap is not None and isinstance(mishap, Kill | Pause):
            self._befall(fiber, what, mishap, "after")

    def _mishap(self, fiber: Fiber) -> Mishap | None:
        mine = self.network.mishaps.get(fiber.name)
        return None if mine is None else mine.get(fiber.calls)

    def _befall(self, fiber: Fiber, what: str, mishap: Mishap, side: Side) -> None:
        if isinstance(mishap, Undo):
            if side == "before" and self.service.name == "mysql" and what not in _NEVER_UNDONE:
                self.network.strike(fiber, self.service.name, what, mishap)
                raise Undone(mishap.code)
            return
        if mishap.side != side:
            return
        self.network.strike(fiber, self.service.name, what, mishap)
        if isinstance(mishap, Cut):
            self.network.scheduler.rest(ns(mishap.noticed_s))
            raise LineCut("unsent" if side == "before" else "unanswered")
        self.network.scheduler.rest(0)  # killed: it ends here; paused: it stands still here

    def _pass(self, patience_ns: int, how: How) -> None:
        """Wait until the line is open again, or patience is over."""
        scheduler = self.network.scheduler
        until_ns = scheduler.now_ns + patience_ns
        while self.blocked:
            left_ns = until_ns - scheduler.now_ns
            if left_ns <= 0 or not scheduler.wait(self._held_up, left_ns):
                raise LineCut(how, held_up=True)

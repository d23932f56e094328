"""Lines from processes to services: requests and answers are delayed, held up, or lost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Fiber, Scheduler, Waiters
from chaos.simulation.kernel.trace import Trace
from chaos.simulation.network.call_faults import (
    CallFault,
    CutAtCall,
    KillAtCall,
    KillDatabaseAtCall,
    PauseAtCall,
    Side,
    UndoAtCall,
)
from chaos.simulation.network.degradations import Degradation, message_bytes
from chaos.simulation.network.delays import BASE_NS, Delays

T = TypeVar("T")

REFUSED_NS = 200_000
"""Time until a client learns that no server listens."""


How = Literal["refused", "unsent", "unanswered"]


_CANNOT_BE_UNDONE = ("connect", "rollback")


class LineCut(Exception):
    """No answer. `refused`: nothing was sent; `unsent`: it did not arrive; `unanswered`: it took effect, the answer was lost.

    `held_up`: the message is not lost but held on a blocked line, so an unsent request may still arrive when the line is open again.
    """

    def __init__(self, how: How, *, held_up: bool = False) -> None:
        super().__init__(how)
        self.how = how
        self.held_up = held_up


class Undone(Exception):
    """The service undid the request because of other clients; `code` is MySQL's error code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True)
class Service:
    """The network's view of a service. `epoch` counts its restarts: messages in transit to an earlier epoch are lost."""

    name: str
    up: bool = True
    epoch: int = 0

    def kill(self) -> None:
        """Break every connection, and refuse new ones."""
        self.up = False
        self.epoch += 1

    def start(self) -> None:
        """Accept connections again."""
        self.up = True


Apply = Callable[[Fiber, str, str, CallFault], None]
"""Carries out a call fault: fiber, service, operation, fault."""

Watcher = Callable[[str, Sequence[Any]], bool]
"""Called with operation and payload (for the broker: the message bodies); True: drop the one-way message."""


@dataclass(slots=True)
class Network:
    """State shared by all lines. `apply` kills or pauses the process of a fiber, and records that in the history."""

    scheduler: Scheduler
    delays: Delays
    trace: Trace
    apply: Apply
    call_faults: Mapping[str, Mapping[int, CallFault]] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    """Number of calls, by fiber."""

    def count_call(self, fiber: Fiber) -> CallFault | None:
        """Count a call of the fiber; returns its call fault, or None."""
        fiber.calls += 1
        self.calls[fiber.name] = fiber.calls
        mine = self.call_faults.get(fiber.name)
        return None if mine is None else mine.get(fiber.calls)


class Line:
    """The line from one process to one service, with its active degradations.

    Every watcher is called after each request with an answer took effect, and before each one-way message is sent.
    `blocked`, `refused` and `is_degraded` are computed from the active degradations once, so that a call only reads them.
    """

    def __init__(self, network: Network, service: Service) -> None:
        self.network = network
        self.service = service
        self.blocked = False
        self.refused = False
        self.is_degraded = False
        """Whether messages are delayed or slowed down, or answers reset their connection."""
        self.reset_after_ns: int | None = None
        self.watchers: list[Watcher] = []
        self._delay_ns = 0
        self._ns_per_byte = 0.0
        self._degradations: list[Degradation] = []
        self._held_up: Waiters = []
        self._late: list[tuple[Callable[[], None], bool]] = []

    def degrade(self, degradation: Degradation) -> None:
        """Add a degradation. Delays and times per byte add up; of two resets the earlier one counts."""
        self._degradations.append(degradation)
        self._sum_up()

    def restore(self, degradation: Degradation, *, losing_data: bool = False) -> None:
        """Remove one such degradation; the others stay. If none blocks any more, held-up messages are sent.

        `losing_data`: held-up messages are lost, except notices of closed connections.
        """
        self._degradations.remove(degradation)
        self._sum_up()
        if losing_data:
            self._late = [(arrive, is_data) for arrive, is_data in self._late if not is_data]
        if degradation.blocks and not self.blocked:
            self._release()

    def added_ns(self, payload: object) -> int:
        """The delay that a degraded line adds to a message with this payload, in one direction."""
        transfer_ns = self._ns_per_byte * message_bytes(payload) if self._ns_per_byte else 0.0
        return self._delay_ns + round(transfer_ns)

    def is_dropped(self, operation: str, payload: Sequence[Any]) -> bool:
        """Call every watcher with an operation; whether one of them drops it."""
        is_dropped = False
        for watcher in list(self.watchers):
            is_dropped |= watcher(operation, payload)
        return is_dropped

    def _sum_up(self) -> None:
        on = self._degradations
        self.blocked = any(one.blocks for one in on)
        self.refused = any(one.refuses for one in on)
        self._delay_ns = sum(one.delay_ns for one in on)
        self._ns_per_byte = sum(one.ns_per_byte for one in on)
        self.reset_after_ns = min((one.reset_after_ns for one in on if one.reset_after_ns is not None), default=None)
        self.is_degraded = bool(self._delay_ns or self._ns_per_byte or self.reset_after_ns is not None)

    def _release(self) -> None:
        scheduler = self.network.scheduler
        scheduler.wake(self._held_up)
        late, self._late = self._late, []
        for arrive, _ in late:
            scheduler.at(scheduler.now_ns + BASE_NS, arrive)

    def arrive(self, action: Callable[[], None], *, not_before_ns: int = 0, is_data: bool = True) -> int:
        """Send a one-way message to the other end; returns its expected arrival.

        `is_data`: whether a connection carries it; False: it is the notice of a closed connection.
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
        timeout_ns: int,
        connected_epoch: int | None = None,
        subject: str = "",
        payload: Sequence[Any] = (),
    ) -> T:
        """Execute `act` at the service and return its result; the calling fiber waits for the request and the answer.

        `connected_epoch`: the service's epoch when the connection was made. `payload`: the content of the request.

        Raises:
            LineCut: no answer; `how` says what is known.
            Undone: a call fault of the database.
            Died: the calling process is dead.
        """
        network = self.network
        fiber = network.scheduler.check_alive()
        call_fault = network.count_call(fiber)
        try:
            if call_fault is not None:
                self._apply(fiber, what, call_fault, "before")
            epoch = self._send(fiber, timeout_ns, connected_epoch, payload)
            value = act()
            network.trace.note(network.scheduler.now_ns, fiber.name, self.service.name, what, subject)
            if call_fault is not None and network.call_faults:  # else the calm phase has begun meanwhile
                self._apply(fiber, what, call_fault, "after")
            if self.watchers:
                self.is_dropped(what, payload)
            leg_ns = network.delays.leg_ns(fiber, 1)
            if self.is_degraded:
                leg_ns += self._degraded_answer_ns(value)
            network.scheduler.rest(leg_ns)
            if self.blocked:
                self._await_open(timeout_ns, "unanswered")
            if self.service.epoch != epoch:
                raise LineCut("unanswered")
            return value
        except LineCut as cut:
            network.trace.note(network.scheduler.now_ns, fiber.name, self.service.name, f"{what}: {cut.how}", subject)
            raise

    def _degraded_answer_ns(self, value: object) -> int:
        """The delay that the line adds to an answer.

        Raises:
            LineCut: the answer never arrives: the connection is reset instead.
        """
        if self.reset_after_ns is None:
            return self.added_ns(value)
        self.network.scheduler.rest(self.reset_after_ns)
        raise LineCut("unanswered")

    def _send(self, fiber: Fiber, timeout_ns: int, connected_epoch: int | None, payload: Sequence[Any]) -> int:
        """Deliver the request; returns the service's epoch."""
        network, service = self.network, self.service
        if not service.up or self.refused or (connected_epoch is not None and connected_epoch != service.epoch):
            network.scheduler.rest(REFUSED_NS)
            raise LineCut("refused")
        epoch = service.epoch
        leg_ns = network.delays.leg_ns(fiber, 0)
        if self.is_degraded:
            leg_ns += self.added_ns(payload)
        network.scheduler.rest(leg_ns)
        if self.blocked:
            self._await_open(timeout_ns, "unsent")
        if service.epoch != epoch:
            raise LineCut("unsent")
        return epoch

    def begin(self, what: str) -> Fiber:
        """Begin a one-way message of the calling fiber; a call fault may strike here too.

        Raises:
            LineCut: the connection broke; the message never arrives.
        """
        fiber = self.network.scheduler.check_alive()
        call_fault = self.network.count_call(fiber)
        if call_fault is not None:
            self._apply(fiber, what, call_fault, "before")
        return fiber

    def sent(self, fiber: Fiber, what: str) -> None:
        """End the call of `begin`: its message is in transit."""
        call_fault = self._call_fault(fiber)
        if call_fault is not None and isinstance(call_fault, KillAtCall | PauseAtCall):
            self._apply(fiber, what, call_fault, "after")

    def _call_fault(self, fiber: Fiber) -> CallFault | None:
        mine = self.network.call_faults.get(fiber.name)
        return None if mine is None else mine.get(fiber.calls)

    def _apply(self, fiber: Fiber, what: str, call_fault: CallFault, side: Side) -> None:
        if isinstance(call_fault, UndoAtCall):
            if side == "before" and self.service.name == "mysql" and what not in _CANNOT_BE_UNDONE:
                self.network.apply(fiber, self.service.name, what, call_fault)
                raise Undone(call_fault.code)
            return
        if call_fault.side != side:
            return
        if isinstance(call_fault, KillDatabaseAtCall):
            if self.service.name == "mysql" and self.service.up:
                self.network.apply(fiber, self.service.name, what, call_fault)
            return
        self.network.apply(fiber, self.service.name, what, call_fault)
        if isinstance(call_fault, CutAtCall):
            self.network.scheduler.rest(ns(call_fault.noticed_s))
            raise LineCut("unsent" if side == "before" else "unanswered")
        self.network.scheduler.rest(0)  # a killed fiber ends here, a paused one stops here

    def _await_open(self, timeout_ns: int, how: How) -> None:
        """Wait until the line is open again; raises LineCut at the time-out."""
        scheduler = self.network.scheduler
        until_ns = scheduler.now_ns + timeout_ns
        while self.blocked:
            left_ns = until_ns - scheduler.now_ns
            if left_ns <= 0 or not scheduler.wait(self._held_up, left_ns):
                raise LineCut(how, held_up=True)

"""The broker port of a simulated process: one connection with channels, and its failures."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from chaos.simulation.broker.broker import BrokerServer, Subscription
from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Waiters
from chaos.simulation.network.delays import BASE_NS
from chaos.simulation.network.network import Line, LineCut

T = TypeVar("T")

_OUTCOMES = {True: "confirmed", False: "returned", None: "unknown"}


class BrokerErrorFactory(Protocol):
    """Makes the system's own errors and publish outcomes from those of the broker."""

    def unavailable(self, why: str) -> Exception:
        """There is no connection; nothing was sent."""

    def connection_lost(self, why: str) -> Exception:
        """The connection broke; messages in transit may have arrived."""

    def outcome(self, name: str) -> object:
        """The outcome of a publish: `confirmed`, `returned`, `refused` or `unknown`."""


class Outgoing(Protocol):
    """A message to be published."""

    @property
    def queue(self) -> str:
        """Name of the target queue."""

    @property
    def body(self) -> bytes:
        """The body."""


class Queues(Protocol):
    """The queues of a system."""

    @property
    def work_queue(self) -> str:
        """Name of the queue of work."""

    @property
    def dead_queue(self) -> str:
        """Name of the queue of dead letters."""

    @property
    def delivery_limit(self) -> int:
        """How often a message may return to the work queue."""


@dataclass(frozen=True, slots=True)
class SimulatedDelivery:
    """A message delivered to a consumer."""

    tag: int
    body: bytes
    redelivered: bool


class BrokerConnection:
    """A connection: once lost, it stays lost. Messages arrive in the order in which they were sent."""

    def __init__(self, line: Line, timeout_ns: int) -> None:
        self.line = line
        self._timeout_ns = timeout_ns
        self._lost: str | None = None
        self._is_cut = False
        self._on_lost: list[Callable[[], None]] = []
        self._last_arrival_ns = 0
        line.ask("connect", lambda: None, timeout_ns=timeout_ns)
        self._epoch = line.service.epoch

    @property
    def lost(self) -> str | None:
        """Why it is lost, or None."""
        if self._lost is None and self._epoch != self.line.service.epoch:
            self._lost = "the broker closed the connection"
        return self._lost

    def ask(
        self,
        what: str,
        act: Callable[[], T],
        *,
        timeout_ns: int | None = None,
        subject: str = "",
        bodies: Sequence[bytes] = (),
    ) -> T:
        """One round trip.

        Raises:
            LineCut: no answer; the connection is lost, unless the line is only blocked.
        """

        def arrive() -> T:
            if self._lost is not None:
                raise LineCut("unsent")  # a call on another channel has lost the connection meanwhile
            return act()

        try:
            value = self.line.ask(
                what,
                arrive,
                timeout_ns=self._timeout_ns if timeout_ns is None else timeout_ns,
                connected_epoch=self._epoch,
                subject=subject,
                payload=bodies,
            )
            if self._lost is not None:
                raise LineCut("unanswered")
            return value
        except LineCut as cut:
            if not cut.held_up:
                self.cut(cut.how)
            raise

    def send(self, what: str, act: Callable[[], None], subject: str = "", bodies: Sequence[bytes] = ()) -> None:
        """Send a one-way message: it arrives unless the connection breaks first.

        Raises:
            LineCut: the connection broke during the send.
        """
        try:
            fiber = self.line.begin(what)
        except LineCut as cut:
            self.cut(cut.how)
            raise
        network = self.line.network
        if self.line.watchers and self.line.is_dropped(what, bodies):
            self.cut("the connection was cut, and the message in transit was dropped")
            return

        def arrive() -> None:
            if not self._is_cut and self.line.service.epoch == self._epoch:
                network.trace.note(network.scheduler.now_ns, fiber.name, self.line.service.name, what, subject)
                act()

        leg_ns = network.delays.leg_ns(fiber, 0)
        if self.line.is_degraded:
            leg_ns += self.line.added_ns(bodies)
        arrives_ns = max(network.scheduler.now_ns + leg_ns, self._last_arrival_ns)
        self._last_arrival_ns = self.line.arrive(arrive, not_before_ns=arrives_ns)
        self.line.sent(fiber, what)

    def reset_later(self, after_ns: int) -> None:
        """Reset the connection after this time."""
        scheduler = self.line.network.scheduler
        scheduler.at(scheduler.now_ns + after_ns, lambda: self.cut("the connection was reset"))

    def when_lost(self, report: Callable[[], None]) -> None:
        """Call `report` at the broker when the end of the connection arrives there."""
        self._on_lost.append(report)

    def disconnect(self, why: str) -> None:
        """Close the connection from this end: messages sent before still arrive."""
        if self._lost is None:
            self._lost = why
            on_lost, self._on_lost = self._on_lost, []
            for report in on_lost:
                self.line.arrive(report, not_before_ns=self._last_arrival_ns, is_data=False)

    def cut(self, why: str) -> None:
        """Break the connection: messages in transit are lost, and the broker learns of its end."""
        self._is_cut = True
        self.disconnect(why)


class SimulatedPublisher:
    """A channel with confirms."""

    def __init__(self, server: BrokerServer, link: BrokerConnection, errors: BrokerErrorFactory) -> None:
        self._server = server
        self._link = link
        self._errors = errors

    def publish(self, messages: Sequence[Outgoing], *, timeout_s: float) -> Sequence[Any]:
        """Send all, wait for all confirms; the outcome of each, in order."""
        if self._link.lost is not None:
            raise self._errors.unavailable(self._link.lost)
        bodies = [(message.queue, message.body) for message in messages]
        timeout_ns = ns(timeout_s)
        try:
            outcomes = self._link.ask(
                "publish",
                lambda: self._server.await_written(bodies, timeout_ns),
                timeout_ns=timeout_ns,
                subject="\n".join(body.decode(errors="replace") for _, body in bodies),
                bodies=[body for _, body in bodies],
            )
        except LineCut as cut:
            outcomes = [None] * len(bodies)
            if cut.held_up and cut.how == "unsent":
                self._link.line.arrive(lambda: self._arrive_late(bodies))
        return [self._errors.outcome(_OUTCOMES[outcome]) for outcome in outcomes]

    def close(self) -> None:
        """Without effect: a closed publisher channel is not observable."""

    def _arrive_late(self, bodies: Sequence[tuple[str, bytes]]) -> None:
        for queue_name, body in bodies:
            self._server.receive(queue_name, body, lambda _: None)


class SimulatedConsumer:
    """A channel that consumes one queue; deliveries wait here until they are received."""

    def __init__(
        self, server: BrokerServer, link: BrokerConnection, errors: BrokerErrorFactory, queue_name: str, prefetch: int
    ) -> None:
        self._server = server
        self._link = link
        self._errors = errors
        self._scheduler = link.line.network.scheduler
        self._inbox: deque[SimulatedDelivery] = deque()
        self._arrival: Waiters = []
        self._closed: str | None = None
        self._last_arrival_ns = 0
        self.subscription: Subscription | None = None
        try:
            link.ask("consume", lambda: self._subscribe(queue_name, prefetch))
        except LineCut:
            self.close()
            raise

    def receive(self, *, timeout_s: float) -> SimulatedDelivery | None:
        """The next message, or None after the time-out."""
        self._scheduler.check_alive()
        self._check()
        if not self._inbox and not self._scheduler.wait(self._arrival, ns(timeout_s)):
            return None
        self._check()
        return self._inbox.popleft() if self._inbox else None

    def ack(self, delivery: SimulatedDelivery) -> None:
        """Acknowledge the message."""
        self._send("ack", delivery, lambda subscription: self._server.acknowledge(subscription, delivery.tag))

    def reject(self, delivery: SimulatedDelivery, *, requeue: bool) -> None:
        """Return the message to its queue, or dead-letter it."""
        self._send(
            "requeue" if requeue else "reject",
            delivery,
            lambda subscription: self._server.reject(subscription, delivery.tag, requeue=requeue),
        )

    def close(self) -> None:
        """Close the channel; those of a dead process are closed with its connection."""
        fiber = self._scheduler.current
        if fiber is not None and fiber.life.alive and self._closed is None and self._link.lost is None:
            with suppress(LineCut):
                self._link.send("close", self._close_subscription)
        self._closed = self._closed or "this consumer was closed"

    def cancelled(self) -> None:
        """The broker has cancelled it: no more deliveries."""
        self._closed = self._closed or "the broker cancelled the consumer"
        self._scheduler.wake(self._arrival)

    def _subscribe(self, queue_name: str, prefetch: int) -> None:
        queue = self._server.queues.get(queue_name)
        if queue is None:
            self._closed = f"no queue {queue_name!r}"
            return
        subscription = self._server.subscribe(queue, prefetch, self._deliver, self._on_gone)
        self.subscription = subscription
        self._link.when_lost(lambda: self._server.close(subscription))

    def _close_subscription(self) -> None:
        if self.subscription is not None:
            self._server.close(self.subscription)

    def _deliver(self, tag: int, body: bytes, redelivered: bool) -> None:
        def arrive() -> None:
            self._inbox.append(SimulatedDelivery(tag, body, redelivered))
            self._scheduler.wake(self._arrival)

        line, not_before_ns = self._link.line, self._last_arrival_ns
        if line.is_degraded:
            if line.reset_after_ns is not None:
                self._link.reset_later(line.reset_after_ns)
                return
            not_before_ns = max(not_before_ns, self._scheduler.now_ns + BASE_NS + line.added_ns(body))
        self._last_arrival_ns = line.arrive(arrive, not_before_ns=not_before_ns)

    def _on_gone(self) -> None:
        self._scheduler.wake(self._arrival)

    def _send(self, what: str, delivery: SimulatedDelivery, act: Callable[[Subscription], None]) -> None:
        self._check()
        subscription = self.subscription
        assert subscription is not None, "an open consumer has a subscription"
        try:
            body = delivery.body
            self._link.send(what, lambda: act(subscription), body.decode(errors="replace"), (body,))
        except LineCut as cut:
            raise self._errors.connection_lost(cut.how) from cut

    def _check(self) -> None:
        why = self._closed or self._link.lost
        if why is not None:
            raise self._errors.connection_lost(why)


class SimulatedBroker:
    """The port: one connection for each process, opened when needed, and reopened after it was lost."""

    def __init__(self, server: BrokerServer, line: Line, errors: BrokerErrorFactory, *, timeout_ns: int) -> None:
        self._server = server
        self._line = line
        self._errors = errors
        self._timeout_ns = timeout_ns
        self._link: BrokerConnection | None = None
        self._is_opening = False
        self._opened: Waiters = []
        self.consumers: list[SimulatedConsumer] = []

    def declare(self, topology: Queues) -> None:
        """Create the queues. Idempotent."""

        def act() -> None:
            self._server.declare(topology.dead_queue)
            self._server.declare(
                topology.work_queue, delivery_limit=topology.delivery_limit, dead_letters_to=topology.dead_queue
            )

        with self._unavailable():
            self._open_link().ask("declare", act)

    def open_publisher(self) -> SimulatedPublisher:
        """A new channel with confirms."""
        with self._unavailable():
            link = self._open_link()
            link.ask("open channel", lambda: None)
            return SimulatedPublisher(self._server, link, self._errors)

    def open_consumer(self, queue: str, *, prefetch: int) -> SimulatedConsumer:
        """A new channel that consumes; at most `prefetch` messages unacknowledged."""
        with self._unavailable():
            consumer = SimulatedConsumer(self._server, self._open_link(), self._errors, queue, prefetch)
        self.consumers = [one for one in self.consumers if one.subscription and one.subscription.is_open]
        self.consumers.append(consumer)
        return consumer

    def depth(self, queue: str) -> int:
        """Messages ready in the queue."""
        with self._unavailable():
            return self._open_link().ask("depth", lambda: self._server.depth(queue))

    def cut(self, why: str) -> None:
        """Break the connection."""
        if self._link is not None:
            self._link.cut(why)

    def close(self) -> None:
        """Close the connection."""
        if self._link is not None:
            self._link.disconnect("this process closed the connection")

    def _open_link(self) -> BrokerConnection:
        while self._is_opening:  # one at a time: a second connection would have no owner to close it
            self._line.network.scheduler.wait(self._opened)
        if self._link is None or self._link.lost is not None:
            self._is_opening = True
            try:
                self._link = BrokerConnection(self._line, self._timeout_ns)
            finally:
                self._is_opening = False
                self._line.network.scheduler.wake(self._opened)
        return self._link

    @contextmanager
    def _unavailable(self) -> Iterator[None]:
        try:
            yield
        except LineCut as cut:
            raise self._errors.unavailable(cut.how) from cut

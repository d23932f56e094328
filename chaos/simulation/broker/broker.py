"""A broker that behaves like RabbitMQ with quorum queues: confirms, prefetch, counted redeliveries, dead letters, restarts."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from chaos.simulation.kernel.scheduler import Scheduler, Waiters
from chaos.simulation.network.network import Service

WRITE_NS = 300_000
"""From the arrival of a message until it is on disk: it is confirmed and delivered only after that."""
YOUNG_NS = 3_000_000_000
"""A killed broker may forget a queue younger than this (observed on RabbitMQ 3.10)."""


@dataclass(slots=True, eq=False)
class Stored:
    """A message in a queue. `returns`: how often it was delivered and returned."""

    body: bytes
    returns: int = 0


@dataclass(slots=True, eq=False)
class Subscription:
    """The broker's side of a consumer. Calls `deliver` with tag, body and whether it is a redelivery; calls `gone` when it is cut."""

    queue: "Queue"
    prefetch: int
    deliver: Callable[[int, bytes, bool], None]
    gone: Callable[[], None]
    unacknowledged: dict[int, Stored] = field(default_factory=dict)
    last_tag: int = 0
    is_open: bool = True


@dataclass(slots=True, eq=False)
class Queue:
    """A durable quorum queue; returned messages are delivered before new ones."""

    name: str
    delivery_limit: int | None
    dead_letters_to: str | None
    declared_ns: int
    ready: deque[Stored] = field(default_factory=deque)
    returned: deque[Stored] = field(default_factory=deque)
    subscriptions: deque[Subscription] = field(default_factory=deque)
    acknowledged: deque[tuple[int, Stored]] = field(default_factory=deque)

    def bodies(self) -> list[bytes]:
        """The messages that wait in it."""
        return [stored.body for stored in (*self.returned, *self.ready)]


class BrokerServer(Service):
    """The broker and its state; each method takes effect at once.

    A kill may lose unconfirmed messages, acknowledgements that arrived less than `WRITE_NS` before it, and young queues. The caller
    of `kill_losing` chooses what is lost; young queues are lost only if `forgets_queues` is set. If `redelivers` is False, a message
    that returns unacknowledged is dropped, unlike in a real broker: then only other layers of the system can recover its task. While
    `loses` is True, new messages are confirmed and dropped.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__("rabbitmq")
        self._scheduler = scheduler
        self.queues: dict[str, Queue] = {}
        self.forgets_queues = True
        self.redelivers = True
        self.loses = False
        self.given_up: list[bytes] = []
        """Messages that were returned more often than their queue allows."""
        self._unwritten: list[tuple[Queue, Stored]] = []
        self._publishing: Waiters = []

    def declare(self, name: str, *, delivery_limit: int | None = None, dead_letters_to: str | None = None) -> None:
        """Create the queue, unless it exists."""
        if name not in self.queues:
            self.queues[name] = Queue(name, delivery_limit, dead_letters_to, self._scheduler.now_ns)

    def await_written(self, bodies: Sequence[tuple[str, bytes]], timeout_ns: int) -> list[bool | None]:
        """Receive messages and wait until all are on disk. For each: True: it is; False: no such queue; None: unknown at the time-out."""
        outcomes: list[bool | None] = [None] * len(bodies)

        def report(number: int, is_routed: bool) -> None:
            outcomes[number] = is_routed
            if None not in outcomes:
                self._scheduler.wake(self._publishing)

        for number, (queue_name, body) in enumerate(bodies):
            self.receive(queue_name, body, partial(report, number))
        epoch, until_ns = self.epoch, self._scheduler.now_ns + timeout_ns
        while None in outcomes and self.epoch == epoch and self._scheduler.now_ns < until_ns:
            self._scheduler.wait(self._publishing, until_ns - self._scheduler.now_ns)
        return outcomes

    def receive(self, queue_name: str, body: bytes, when_written: Callable[[bool], None]) -> None:
        """Receive a message; `when_written` is called with True once it is on disk, or at once with False: no such queue."""
        queue = self.queues.get(queue_name)
        if queue is None:
            when_written(False)
            return
        entry = (queue, Stored(body))
        self._unwritten.append(entry)

        def write() -> None:
            if entry in self._unwritten:  # else the broker was killed meanwhile
                self._unwritten.remove(entry)
                if not self.loses:
                    queue.ready.append(entry[1])
                when_written(True)
                self._dispatch(queue)

        self._scheduler.at(self._scheduler.now_ns + WRITE_NS, write)

    def subscribe(
        self,
        queue: Queue,
        prefetch: int,
        deliver: Callable[[int, bytes, bool], None],
        gone: Callable[[], None],
    ) -> Subscription:
        """Add a consumer; ready messages are delivered to it."""
        subscription = Subscription(queue, prefetch, deliver, gone)
        queue.subscriptions.append(subscription)
        self._dispatch(queue)
        return subscription

    def acknowledge(self, subscription: Subscription, tag: int) -> None:
        """Remove the message: its consumer has handled it."""
        stored = subscription.unacknowledged.pop(tag, None)
        if stored is not None:
            now_ns = self._scheduler.now_ns
            acknowledged = subscription.queue.acknowledged
            acknowledged.append((now_ns, stored))
            while acknowledged[0][0] < now_ns - WRITE_NS:
                acknowledged.popleft()
            self._dispatch(subscription.queue)

    def reject(self, subscription: Subscription, tag: int, *, requeue: bool) -> None:
        """Return the message to its queue, or dead-letter it."""
        stored = subscription.unacknowledged.pop(tag, None)
        if stored is None:
            return
        if requeue:
            self._return(subscription.queue, stored)
        else:
            self._dead_letter(subscription.queue, stored)
        self._dispatch(subscription.queue)

    def cancel(self, subscription: Subscription) -> None:
        """Deliver no more messages to it; it may still acknowledge those that it has."""
        if subscription in subscription.queue.subscriptions:
            subscription.queue.subscriptions.remove(subscription)

    def close(self, subscription: Subscription) -> None:
        """Its channel is closed: every unacknowledged message returns to the queue, in order. Idempotent."""
        if not subscription.is_open:
            return
        subscription.is_open = False
        self.cancel(subscription)
        for stored in subscription.unacknowledged.values():
            self._return(subscription.queue, stored)
        subscription.unacknowledged.clear()
        self._dispatch(subscription.queue)

    def kill_losing(self, *, unconfirmed: bool, acknowledgements: bool, young_queues: bool) -> None:
        """kill -9: every channel is closed; the arguments name what else is lost."""
        self.kill()
        self._scheduler.wake(self._publishing)
        for queue, stored in self._unwritten:
            if not unconfirmed:
                queue.ready.append(stored)
        self._unwritten.clear()
        recent_ns = self._scheduler.now_ns - WRITE_NS
        for queue in list(self.queues.values()):
            for subscription in list(queue.subscriptions):
                self.close(subscription)
                subscription.gone()
            if acknowledgements:
                for acknowledged_ns, stored in queue.acknowledged:
                    if acknowledged_ns >= recent_ns:
                        self._return(queue, stored)
            queue.acknowledged.clear()
            if young_queues and self.forgets_queues and queue.declared_ns > self._scheduler.now_ns - YOUNG_NS:
                del self.queues[queue.name]

    def depth(self, name: str) -> int:
        """Messages ready in the queue."""
        queue = self.queues[name]
        return len(queue.ready) + len(queue.returned)

    def _dispatch(self, queue: Queue) -> None:
        """Deliver to consumers in turn (round robin), to each up to its prefetch."""
        if not self.up:
            return
        passed_over = 0
        subscriptions = queue.subscriptions
        while (queue.ready or queue.returned) and passed_over < len(subscriptions):
            subscription = subscriptions[0]
            subscriptions.rotate(-1)
            if len(subscription.unacknowledged) >= subscription.prefetch:
                passed_over += 1
                continue
            passed_over = 0
            stored = queue.returned.popleft() if queue.returned else queue.ready.popleft()
            subscription.last_tag += 1
            subscription.unacknowledged[subscription.last_tag] = stored
            subscription.deliver(subscription.last_tag, stored.body, stored.returns > 0)

    def _return(self, queue: Queue, stored: Stored) -> None:
        if not self.redelivers:
            return
        stored.returns += 1
        if queue.delivery_limit is not None and stored.returns > queue.delivery_limit:
            self.given_up.append(stored.body)
            self._dead_letter(queue, stored)
        else:
            queue.returned.append(stored)

    def _dead_letter(self, queue: Queue, stored: Stored) -> None:
        target = self.queues.get(queue.dead_letters_to or "")
        if target is not None:
            target.ready.append(Stored(stored.body))
            self._dispatch(target)

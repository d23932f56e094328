"""The broker port over RabbitMQ: one connection a process, driven by a thread of its own, so that long handlers miss no heartbeat.

pika calls back on that thread; the port blocks on the caller's. What crosses between the two are futures and queues.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

import pika
import pika.exceptions
from pika.channel import Channel
from pika.spec import Basic, BasicProperties

from reference_impl.errors import BrokerConnectionLost, BrokerUnavailable
from reference_impl.ports import Delivery, Message, PublishOutcome, Topology

T = TypeVar("T")

PERSISTENT = 2
HEARTBEAT_S = 10


class Link:
    """A connection and the thread that drives it; made open, and never reopened: whoever finds it broken makes another."""

    def __init__(self, url: str, name: str, *, io_timeout_s: float) -> None:
        self._io_timeout_s = io_timeout_s
        self._lock = threading.Lock()
        self._waiting: set[Future[Any]] = set()
        self._lost: str | None = None
        opened = self.expect()
        parameters = pika.URLParameters(url)
        parameters.heartbeat = HEARTBEAT_S
        parameters.socket_timeout = io_timeout_s
        parameters.stack_timeout = io_timeout_s
        parameters.blocked_connection_timeout = io_timeout_s
        parameters.client_properties = {"connection_name": name}
        self._connection = pika.SelectConnection(
            parameters,
            on_open_callback=lambda _: _settle(opened, None),
            on_open_error_callback=lambda _, error: self._lose(error),
            on_close_callback=lambda _, error: self._lose(error),
        )
        self._thread = threading.Thread(target=self._drive, name=f"amqp {name}", daemon=True)
        self._thread.start()
        try:
            self.wait(opened)
        except BrokerConnectionLost as error:
            self.close()
            raise BrokerUnavailable(str(error)) from error

    @property
    def is_open(self) -> bool:
        """Whether it has not been lost, as far as is known."""
        return self._lost is None

    def expect(self) -> Future[Any]:
        """A future that fails when the connection does.

        Raises:
            BrokerConnectionLost: it already has.
        """
        answer: Future[Any] = Future()
        with self._lock:
            self.check()
            self._waiting.add(answer)
        return answer

    def submit(self, action: Callable[[], None]) -> None:
        """Have the driving thread do it; nobody waits for it.

        Raises:
            BrokerConnectionLost: there is no connection any more.
        """
        self.check()

        def guarded() -> None:
            # A channel that closed in the meantime: its own callback tells whoever uses it.
            with contextlib.suppress(pika.exceptions.AMQPError):
                action()

        self._connection.ioloop.add_callback_threadsafe(guarded)

    def ask(self, start: Callable[[Callable[[Any], None]], object]) -> Any:
        """Start something on the driving thread and wait for what it calls back with."""
        answer = self.expect()

        def run() -> None:
            try:
                start(lambda value: _settle(answer, value))
            except pika.exceptions.AMQPError as error:
                _fail(answer, BrokerConnectionLost(repr(error)))

        self._connection.ioloop.add_callback_threadsafe(run)
        return self.wait(answer)

    def wait(self, answer: Future[T], timeout_s: float | None = None) -> T:
        """What the future comes to, within a bound."""
        try:
            return answer.result(self._io_timeout_s if timeout_s is None else timeout_s)
        except FutureTimeout as error:
            raise BrokerConnectionLost("no answer in time") from error
        finally:
            with self._lock:
                self._waiting.discard(answer)

    def open_channel(self, on_closed: Callable[[str], None]) -> Channel:
        """A new channel; `on_closed` is called on the driving thread when it is gone, for whatever reason.

        Raises:
            BrokerConnectionLost: the connection broke, or the broker did not answer.
        """
        channel: Channel = self.ask(lambda done: self._connection.channel(on_open_callback=done))
        channel.add_on_close_callback(lambda _, reason: on_closed(repr(reason)))
        return channel

    def check(self) -> None:
        """Nothing, while the connection is there.

        Raises:
            BrokerConnectionLost: it is not.
        """
        if self._lost is not None:
            raise BrokerConnectionLost(self._lost)

    def close(self) -> None:
        """End the connection, with what was submitted before; never raises."""
        with contextlib.suppress(BrokerConnectionLost):
            self.submit(self._close_on_thread)
        self._thread.join(self._io_timeout_s)

    def _close_on_thread(self) -> None:
        if self._connection.is_open:
            self._connection.close()

    def _drive(self) -> None:
        try:
            self._connection.ioloop.start()
        except Exception as error:  # noqa: BLE001 — pika's loop broke: to everybody who waits that is a lost connection
            self._lose(error)

    def _lose(self, error: object) -> None:
        with self._lock:
            self._lost = self._lost or repr(error)[:200]
            waiting = list(self._waiting)
        for answer in waiting:
            _fail(answer, BrokerConnectionLost(self._lost))
        self._connection.ioloop.stop()


class RabbitPublisher:
    """A channel with publisher confirms; all confirms of a batch are awaited together."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._closed: str | None = None
        self._batch: _Batch | None = None
        self._published = 0
        self._channel = link.open_channel(self._on_closed)
        self._channel.add_on_return_callback(self._on_return)
        link.ask(lambda done: self._channel.confirm_delivery(self._on_confirm, callback=done))

    def publish(self, messages: Sequence[Message], *, timeout_s: float) -> Sequence[PublishOutcome]:
        """See ports.Publisher."""
        if self._closed is not None or not self._link.is_open:
            raise BrokerUnavailable(self._closed or "the connection is gone")
        try:
            done = self._link.expect()
        except BrokerConnectionLost as error:
            raise BrokerUnavailable(str(error)) from error
        batch = _Batch(first_tag=self._published + 1, outcomes=[PublishOutcome.UNKNOWN] * len(messages), done=done)
        self._published += len(messages)

        def send() -> None:
            self._batch = batch
            for message in messages:
                properties = BasicProperties(
                    delivery_mode=PERSISTENT, message_id=message.id, content_type="application/json"
                )
                self._channel.basic_publish("", message.queue, message.body, properties, mandatory=True)

        with contextlib.suppress(BrokerConnectionLost):  # then whatever was not confirmed stays unknown
            self._link.submit(send)
            self._link.wait(done, timeout_s)
        return [
            PublishOutcome.RETURNED if message.id in batch.returned else outcome
            for message, outcome in zip(messages, list(batch.outcomes), strict=True)
        ]

    def close(self) -> None:
        """See ports.Publisher."""
        _close_channel(self._link, self._channel)

    def _on_confirm(self, frame: Any) -> None:
        batch = self._batch
        if batch is None:
            return
        method = frame.method
        outcome = PublishOutcome.CONFIRMED if isinstance(method, Basic.Ack) else PublishOutcome.REFUSED
        batch.settle(method.delivery_tag, outcome, multiple=method.multiple)

    def _on_return(self, _channel: Channel, _method: Basic.Return, properties: BasicProperties, _body: bytes) -> None:
        # Comes before the message's confirm, which then only says that it was handled, not that a queue has it.
        if self._batch is not None and properties.message_id is not None:
            self._batch.returned.add(properties.message_id)

    def _on_closed(self, reason: str) -> None:
        self._closed = reason
        if self._batch is not None:
            _fail(self._batch.done, BrokerConnectionLost(reason))


class _Batch:
    """Messages under way: the outcome of each, by the order in which they were sent."""

    def __init__(self, first_tag: int, outcomes: list[PublishOutcome], done: Future[Any]) -> None:
        self._first_tag = first_tag
        self.outcomes = outcomes
        self.returned: set[str] = set()
        self.done = done
        self._open = len(outcomes)

    def settle(self, tag: int, outcome: PublishOutcome, *, multiple: bool) -> None:
        last = tag - self._first_tag
        for index in range(0 if multiple else last, last + 1):
            if 0 <= index < len(self.outcomes) and self.outcomes[index] is PublishOutcome.UNKNOWN:
                self.outcomes[index] = outcome
                self._open -= 1
        if self._open == 0:
            _settle(self.done, None)


class RabbitConsumer:
    """A channel that consumes one queue; deliveries wait here, at most `prefetch` of them."""

    def __init__(self, link: Link, queue_name: str, *, prefetch: int) -> None:
        self._link = link
        self._inbox: queue.SimpleQueue[Delivery | None] = queue.SimpleQueue()
        self._closed: str | None = None
        self._channel = link.open_channel(self._on_closed)
        self._channel.add_on_cancel_callback(lambda _: self._on_closed("the broker cancelled the consumer"))
        link.ask(lambda done: self._channel.basic_qos(prefetch_count=prefetch, callback=done))
        link.ask(lambda done: self._channel.basic_consume(queue_name, self._on_message, callback=done))

    def receive(self, *, timeout_s: float) -> Delivery | None:
        """See ports.Consumer."""
        self._check()
        try:
            delivery = self._inbox.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if delivery is None:
            self._check()
        return delivery

    def ack(self, delivery: Delivery) -> None:
        """See ports.Consumer."""
        self._check()
        self._link.submit(lambda: self._channel.basic_ack(delivery.tag))

    def reject(self, delivery: Delivery, *, requeue: bool) -> None:
        """See ports.Consumer."""
        self._check()
        self._link.submit(lambda: self._channel.basic_reject(delivery.tag, requeue=requeue))

    def close(self) -> None:
        """See ports.Consumer."""
        _close_channel(self._link, self._channel)

    def _on_message(self, _channel: Channel, method: Basic.Deliver, _properties: BasicProperties, body: bytes) -> None:
        assert method.delivery_tag is not None, "every delivery has a tag"
        self._inbox.put(Delivery(method.delivery_tag, body, bool(method.redelivered)))

    def _on_closed(self, reason: str) -> None:
        self._closed = reason
        self._inbox.put(None)  # wakes whoever waits in `receive`

    def _check(self) -> None:
        if self._closed is not None:
            raise BrokerConnectionLost(self._closed)
        self._link.check()


class RabbitBroker:
    """RabbitMQ at `url`; the connection is made when first needed, and made anew when it was lost."""

    def __init__(self, url: str, name: str, *, io_timeout_s: float) -> None:
        self._url = url
        self._name = name
        self._io_timeout_s = io_timeout_s
        self._lock = threading.Lock()
        self._link: Link | None = None

    def declare(self, topology: Topology) -> None:
        """See ports.Broker. Quorum queues; a message that is delivered over and over ends among the dead letters, at least once."""
        work_arguments = {
            "x-queue-type": "quorum",
            "x-delivery-limit": topology.delivery_limit,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": topology.dead_queue,
            "x-dead-letter-strategy": "at-least-once",
            "x-overflow": "reject-publish",  # which the strategy above requires
        }
        with self._channel() as (link, channel):
            for name, arguments in (
                (topology.dead_queue, {"x-queue-type": "quorum"}),
                (topology.work_queue, work_arguments),
            ):
                _declare(link, channel, name, durable=True, arguments=arguments)

    def open_publisher(self) -> RabbitPublisher:
        """See ports.Broker."""
        with _unavailable():
            return RabbitPublisher(self._open_link())

    def open_consumer(self, queue: str, *, prefetch: int) -> RabbitConsumer:
        """See ports.Broker."""
        with _unavailable():
            return RabbitConsumer(self._open_link(), queue, prefetch=prefetch)

    def depth(self, queue: str) -> int:
        """See ports.Broker."""
        with self._channel() as (link, channel):
            count: int = _declare(link, channel, queue, passive=True).method.message_count
            return count

    def close(self) -> None:
        """See ports.Broker."""
        with self._lock:
            if self._link is not None:
                self._link.close()

    def _open_link(self) -> Link:
        with self._lock:
            if self._link is None or not self._link.is_open:
                self._link = Link(self._url, self._name, io_timeout_s=self._io_timeout_s)
            return self._link

    @contextlib.contextmanager
    def _channel(self) -> Iterator[tuple[Link, Channel]]:
        with _unavailable():
            link = self._open_link()
            channel = link.open_channel(lambda _: None)
            try:
                yield link, channel
            finally:
                _close_channel(link, channel)


def _declare(link: Link, channel: Channel, name: str, **options: Any) -> Any:
    return link.ask(lambda done: channel.queue_declare(name, callback=done, **options))


@contextlib.contextmanager
def _unavailable() -> Iterator[None]:
    """What breaks while something is being opened has sent nothing of ours."""
    try:
        yield
    except BrokerConnectionLost as error:
        raise BrokerUnavailable(str(error)) from error


def _close_channel(link: Link, channel: Channel) -> None:
    def close() -> None:
        if channel.is_open:
            channel.close()

    with contextlib.suppress(BrokerConnectionLost):
        link.submit(close)


def _settle(answer: Future[Any], value: object) -> None:
    if not answer.done():
        answer.set_result(value)


def _fail(answer: Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)

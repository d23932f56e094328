"""The broker port over RabbitMQ: one connection a process, made when first needed and made anew when it was lost."""

import contextlib
import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from pika.channel import Channel
from pika.spec import Basic, BasicProperties

from reference_impl.adapters.amqp_connection import AmqpChannel, AmqpConnection, parameters_of, settle
from reference_impl.errors import BrokerConnectionLost, BrokerUnavailable
from reference_impl.ports import Delivery, Message, PublishOutcome, Topology

PERSISTENT = 2


class RabbitPublisher:
    """A channel with publisher confirms; all confirms of a batch are awaited together. For one thread at a time."""

    def __init__(self, connection: AmqpConnection) -> None:
        self._batch: _Batch | None = None
        self._published = 0
        self._channel = AmqpChannel(connection)
        self._channel.ask(lambda amqp, done: amqp.confirm_delivery(self._on_confirm, callback=done))
        self._channel.submit(lambda amqp: amqp.add_on_return_callback(self._on_return))

    def publish(self, messages: Sequence[Message], *, timeout_s: float) -> Sequence[PublishOutcome]:
        """See ports.Publisher."""
        if not messages:
            return []
        try:
            done = self._channel.expect()
        except BrokerConnectionLost as error:
            raise BrokerUnavailable(error.why) from error
        batch = _Batch(first_tag=self._published + 1, outcomes=[PublishOutcome.UNKNOWN] * len(messages), done=done)
        self._published += len(messages)

        def send(amqp: Channel) -> None:
            self._batch = batch
            for message in messages:
                properties = BasicProperties(
                    delivery_mode=PERSISTENT, message_id=message.id, content_type="application/json"
                )
                amqp.basic_publish("", message.queue, message.body, properties, mandatory=True)

        with contextlib.suppress(BrokerConnectionLost):  # then whatever was not confirmed stays unknown
            self._channel.submit(send)
            self._channel.wait(done, timeout_s)
        return [
            PublishOutcome.RETURNED if message.id in batch.returned else outcome
            for message, outcome in zip(messages, list(batch.outcomes), strict=True)
        ]

    def close(self) -> None:
        """See ports.Publisher."""
        self._channel.close()

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


class _Batch:
    """Messages under way: the outcome of each, by the order in which they were sent."""

    def __init__(self, first_tag: int, outcomes: list[PublishOutcome], done: Future[Any]) -> None:
        self._first_tag = first_tag
        self.outcomes = outcomes
        self.returned: set[str] = set()
        self._done = done
        self._open = len(outcomes)

    def settle(self, tag: int, outcome: PublishOutcome, *, multiple: bool) -> None:
        """The broker has spoken of one message, or of all up to it; a tag of an earlier batch is none of ours."""
        last = tag - self._first_tag
        for index in range(0 if multiple else last, last + 1):
            if 0 <= index < len(self.outcomes) and self.outcomes[index] is PublishOutcome.UNKNOWN:
                self.outcomes[index] = outcome
                self._open -= 1
        if self._open == 0:
            settle(self._done, None)


class RabbitConsumer:
    """A channel that consumes one queue; deliveries wait here, at most `prefetch` of them. For one thread at a time."""

    def __init__(self, connection: AmqpConnection, queue_name: str, *, prefetch: int) -> None:
        self._inbox: queue.SimpleQueue[Delivery | None] = queue.SimpleQueue()
        self._channel = AmqpChannel(
            connection, on_end=lambda: self._inbox.put(None)
        )  # wakes whoever waits in `receive`
        self._channel.submit(lambda amqp: amqp.add_on_cancel_callback(lambda _: self._on_cancelled()))
        self._channel.ask(lambda amqp, done: amqp.basic_qos(prefetch_count=prefetch, callback=done))
        self._channel.ask(lambda amqp, done: amqp.basic_consume(queue_name, self._on_message, callback=done))

    def receive(self, *, timeout_s: float) -> Delivery | None:
        """See ports.Consumer."""
        self._channel.check()
        try:
            delivery = self._inbox.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if delivery is None:
            self._channel.check()
        return delivery

    def ack(self, delivery: Delivery) -> None:
        """See ports.Consumer."""
        self._channel.submit(lambda amqp: amqp.basic_ack(delivery.tag))

    def reject(self, delivery: Delivery, *, requeue: bool) -> None:
        """See ports.Consumer."""
        self._channel.submit(lambda amqp: amqp.basic_reject(delivery.tag, requeue=requeue))

    def close(self) -> None:
        """See ports.Consumer."""
        self._channel.close()

    def _on_message(self, _channel: Channel, method: Basic.Deliver, _properties: BasicProperties, body: bytes) -> None:
        assert method.delivery_tag is not None, "every delivery has a tag"
        self._inbox.put(Delivery(method.delivery_tag, body, bool(method.redelivered)))

    def _on_cancelled(self) -> None:
        self._channel.end("the broker cancelled the consumer: its queue is gone")


class RabbitBroker:
    """RabbitMQ at `url`. Any thread may call any method."""

    def __init__(self, url: str, name: str, *, io_timeout_s: float) -> None:
        """Connects to nothing yet.

        Raises:
            ValueError: the URL is none of a broker.
        """
        self._parameters = parameters_of(url, name, io_timeout_s=io_timeout_s)
        self._name = name
        self._io_timeout_s = io_timeout_s
        self._lock = threading.Lock()
        self._connection: AmqpConnection | None = None
        self._failures = 0
        self._last_failure = ""
        self._closed = False

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
        with self._channel() as channel:
            for name, arguments in (
                (topology.dead_queue, {"x-queue-type": "quorum"}),
                (topology.work_queue, work_arguments),
            ):
                _declare(channel, name, durable=True, arguments=arguments)

    def open_publisher(self) -> RabbitPublisher:
        """See ports.Broker."""
        with _unavailable():
            return RabbitPublisher(self._open_connection())

    def open_consumer(self, queue: str, *, prefetch: int) -> RabbitConsumer:
        """See ports.Broker."""
        with _unavailable():
            return RabbitConsumer(self._open_connection(), queue, prefetch=prefetch)

    def depth(self, queue: str) -> int:
        """See ports.Broker."""
        with self._channel() as channel:
            count: int = _declare(channel, queue, passive=True).method.message_count
            return count

    def close(self) -> None:
        """See ports.Broker. Whoever still wants to use it is told that it is unavailable."""
        self._closed = True  # before the lock: whoever waits for it must not begin to connect
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _open_connection(self) -> AmqpConnection:
        """The connection; where one thread's attempt to connect fails, it has failed for all who waited for it."""
        failures = self._failures
        with self._lock:
            if self._closed:
                raise BrokerUnavailable("it was closed on our side")
            if self._connection is not None and self._connection.is_open:
                return self._connection
            if self._failures != failures:
                raise BrokerUnavailable(self._last_failure)
            try:
                self._connection = AmqpConnection(self._parameters, self._name, io_timeout_s=self._io_timeout_s)
            except BrokerUnavailable as error:
                self._failures += 1
                self._last_failure = error.why
                raise
            return self._connection

    @contextlib.contextmanager
    def _channel(self) -> Iterator[AmqpChannel]:
        with _unavailable():
            channel = AmqpChannel(self._open_connection())
            try:
                yield channel
            finally:
                channel.close()


def _declare(channel: AmqpChannel, name: str, **options: Any) -> Any:
    return channel.ask(lambda amqp, done: amqp.queue_declare(name, callback=done, **options))


@contextlib.contextmanager
def _unavailable() -> Iterator[None]:
    """What breaks while something is being opened has sent nothing of ours."""
    try:
        yield
    except BrokerConnectionLost as error:
        raise BrokerUnavailable(error.why) from error

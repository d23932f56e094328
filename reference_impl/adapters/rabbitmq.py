"""The broker port over RabbitMQ: one connection per process, opened at first use and reopened after a loss."""

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
    """A channel with publisher confirms; waits for all confirms of a batch together. For one thread at a time."""

    def __init__(self, connection: AmqpConnection) -> None:
        self._batch: _Batch | None = None
        self._published = 0
        self._channel = AmqpChannel(connection)
        self._channel.ask(lambda amqp, done: amqp.confirm_delivery(self._on_confirm, callback=done))
        self._channel.submit(lambda amqp: amqp.add_on_return_callback(self._on_return))

    def publish(self, messages: Sequence[Message], *, timeout_s: float) -> Sequence[PublishOutcome]:
        """Publish the batch as persistent, mandatory messages; UNKNOWN where no confirm arrived in time."""
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

        with contextlib.suppress(BrokerConnectionLost):  # the unconfirmed messages stay UNKNOWN
            self._channel.submit(send)
            self._channel.wait(done, timeout_s)
        return [
            PublishOutcome.RETURNED if message.id in batch.returned else outcome
            for message, outcome in zip(messages, list(batch.outcomes), strict=True)
        ]

    def close(self) -> None:
        """Close the channel; unconfirmed messages stay UNKNOWN."""
        self._channel.close()

    def _on_confirm(self, frame: Any) -> None:
        batch = self._batch
        if batch is None:
            return
        method = frame.method
        outcome = PublishOutcome.CONFIRMED if isinstance(method, Basic.Ack) else PublishOutcome.REFUSED
        batch.settle(method.delivery_tag, outcome, multiple=method.multiple)

    def _on_return(self, _channel: Channel, _method: Basic.Return, properties: BasicProperties, _body: bytes) -> None:
        # Arrives before the message's confirm, which then means only that the broker processed it, not that a queue has it.
        if self._batch is not None and properties.message_id is not None:
            self._batch.returned.add(properties.message_id)


class _Batch:
    """Messages in flight, with the outcome of each, in the order of sending."""

    def __init__(self, first_tag: int, outcomes: list[PublishOutcome], done: Future[Any]) -> None:
        self._first_tag = first_tag
        self.outcomes = outcomes
        self.returned: set[str] = set()
        self._done = done
        self._open = len(outcomes)

    def settle(self, tag: int, outcome: PublishOutcome, *, multiple: bool) -> None:
        """Record the broker's answer for one message, or for all up to it (`multiple`). Tags of earlier batches are ignored."""
        last = tag - self._first_tag
        for index in range(0 if multiple else last, last + 1):
            if 0 <= index < len(self.outcomes) and self.outcomes[index] is PublishOutcome.UNKNOWN:
                self.outcomes[index] = outcome
                self._open -= 1
        if self._open == 0:
            settle(self._done, None)


class RabbitConsumer:
    """A channel that consumes one queue and buffers at most `prefetch` deliveries. For one thread at a time."""

    def __init__(self, connection: AmqpConnection, queue_name: str, *, prefetch: int) -> None:
        self._inbox: queue.SimpleQueue[Delivery | None] = queue.SimpleQueue()
        self._channel = AmqpChannel(
            connection, on_end=lambda: self._inbox.put(None)
        )  # wakes a thread that waits in `receive`
        self._channel.submit(lambda amqp: amqp.add_on_cancel_callback(lambda _: self._on_cancelled()))
        self._channel.ask(lambda amqp, done: amqp.basic_qos(prefetch_count=prefetch, callback=done))
        self._channel.ask(lambda amqp, done: amqp.basic_consume(queue_name, self._on_message, callback=done))

    def receive(self, *, timeout_s: float) -> Delivery | None:
        """Take the next delivery from the buffer; wakes at once if the channel ends."""
        self._channel.check()
        try:
            delivery = self._inbox.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if delivery is None:
            self._channel.check()
        return delivery

    def ack(self, delivery: Delivery) -> None:
        """Send basic.ack, without waiting."""
        self._channel.submit(lambda amqp: amqp.basic_ack(delivery.tag))

    def reject(self, delivery: Delivery, *, requeue: bool) -> None:
        """Send basic.reject, without waiting."""
        self._channel.submit(lambda amqp: amqp.basic_reject(delivery.tag, requeue=requeue))

    def close(self) -> None:
        """Close the channel; the broker requeues the unacknowledged messages."""
        self._channel.close()

    def _on_message(self, _channel: Channel, method: Basic.Deliver, _properties: BasicProperties, body: bytes) -> None:
        assert method.delivery_tag is not None, "every delivery has a tag"
        self._inbox.put(Delivery(method.delivery_tag, body, bool(method.redelivered)))

    def _on_cancelled(self) -> None:
        self._channel.end("the broker cancelled the consumer: its queue is gone")


class RabbitBroker:
    """RabbitMQ at `url`. Any thread may call any method."""

    def __init__(self, url: str, name: str, *, io_timeout_s: float) -> None:
        """Makes no connection yet.

        Raises:
            ValueError: not an AMQP URL.
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
        """Declare quorum queues; a message that reaches the delivery limit is dead-lettered, at least once."""
        work_arguments = {
            "x-queue-type": "quorum",
            "x-delivery-limit": topology.delivery_limit,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": topology.dead_queue,
            "x-dead-letter-strategy": "at-least-once",
            "x-overflow": "reject-publish",  # required by the strategy above
        }
        with self._channel() as channel:
            for name, arguments in (
                (topology.dead_queue, {"x-queue-type": "quorum"}),
                (topology.work_queue, work_arguments),
            ):
                _declare(channel, name, durable=True, arguments=arguments)

    def open_publisher(self) -> RabbitPublisher:
        """A publisher on its own channel; connects if necessary."""
        with _unavailable():
            return RabbitPublisher(self._open_connection())

    def open_consumer(self, queue: str, *, prefetch: int) -> RabbitConsumer:
        """A consumer on its own channel; connects if necessary."""
        with _unavailable():
            return RabbitConsumer(self._open_connection(), queue, prefetch=prefetch)

    def depth(self, queue: str) -> int:
        """The count from a passive declaration, without unacknowledged messages."""
        with self._channel() as channel:
            count: int = _declare(channel, queue, passive=True).method.message_count
            return count

    def close(self) -> None:
        """Close the connection; every later call raises BrokerUnavailable."""
        self._closed = True  # before the lock: a thread that waits for the lock must not connect afterwards
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _open_connection(self) -> AmqpConnection:
        """The connection. If one thread fails to connect, all threads that waited for it fail too, without another try."""
        failures = self._failures
        with self._lock:
            if self._closed:
                raise BrokerUnavailable("closed by this process")
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
    """Convert a lost connection to BrokerUnavailable: while a channel is being opened no message has been sent."""
    try:
        yield
    except BrokerConnectionLost as error:
        raise BrokerUnavailable(error.why) from error

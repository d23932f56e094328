"""Ports: everything the reference system needs from its world, as Protocols over builtins and plain data. Imports nothing of the package.

Every call of a port may block, may fail, and is a point where the process can die; a simulator needs no other points.
The database port is SQLAlchemy's Engine itself.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """The monotonic clock of this process. Never compared between processes; the database's clock serves for that."""

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary instant; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Sleep for the full time, even if shutdown has been requested."""


class Entropy(Protocol):
    """Random numbers and unique names."""

    def uniform(self, low: float, high: float) -> float:
        """A random number in [low, high]."""

    def identifier(self) -> str:
        """A unique name; later names sort after earlier ones (UUID version 7)."""


class Shutdown(Protocol):
    """Whether this process has been asked to shut down."""

    @property
    def requested(self) -> bool:
        """Whether shutdown has been requested."""

    def wait(self, timeout_s: float) -> bool:
        """Wait until shutdown is requested, at most `timeout_s`; return whether it has been requested."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to publish: `id` is that of its outbox row, `body` a small JSON document."""

    id: str
    queue: str
    body: bytes


class PublishOutcome(enum.Enum):
    """The broker's answer to one published message."""

    CONFIRMED = "confirmed"  # the broker has it on disk
    RETURNED = "returned"  # no such queue
    REFUSED = "refused"  # negative acknowledgement
    UNKNOWN = "unknown"  # no answer arrived: it may be in the queue


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as delivered to a consumer; `tag` is valid only for acknowledgements on that consumer."""

    tag: int
    body: bytes
    redelivered: bool


class Publisher(Protocol):
    """A channel with publisher confirms."""

    def publish(self, messages: Sequence[Message], *, timeout_s: float) -> Sequence[PublishOutcome]:
        """Send all messages, wait for all confirms, and return one outcome per message, in order.

        Raises:
            BrokerUnavailable: there was no connection, so nothing was sent.
        """

    def close(self) -> None:
        """Release the channel. Never raises."""


class Consumer(Protocol):
    """A channel that consumes one queue with acknowledgements and bounded prefetch."""

    def receive(self, *, timeout_s: float) -> Delivery | None:
        """The next message, or None if none arrived in time.

        Raises:
            BrokerConnectionLost: the channel is gone; every unacknowledged message will be redelivered.
        """

    def ack(self, delivery: Delivery) -> None:
        """Acknowledge the message. The broker does not answer, so the acknowledgement may be lost.

        Raises:
            BrokerConnectionLost: as above.
        """

    def reject(self, delivery: Delivery, *, requeue: bool) -> None:
        """Return the message to the queue, or dead-letter it if `requeue` is False.

        Raises:
            BrokerConnectionLost: as above.
        """

    def close(self) -> None:
        """Release the channel; unacknowledged messages return to the queue. Never raises."""


@dataclass(frozen=True, slots=True)
class Topology:
    """The durable queues of the system: one for work, one for dead letters. The broker dead-letters poisonous messages itself."""

    work_queue: str
    dead_queue: str
    delivery_limit: int


class Broker(Protocol):
    """RabbitMQ, or a substitute. Any method may raise BrokerUnavailable."""

    def declare(self, topology: Topology) -> None:
        """Create the queues. Idempotent."""

    def open_publisher(self) -> Publisher:
        """A new channel with confirms."""

    def open_consumer(self, queue: str, *, prefetch: int) -> Consumer:
        """A new channel that consumes `queue`, with at most `prefetch` unacknowledged messages."""

    def depth(self, queue: str) -> int:
        """Number of messages ready in the queue."""

    def close(self) -> None:
        """Release every connection. Never raises."""


class Cache(Protocol):
    """Fast state in Redis, as a few named operations, each atomic. Any method may raise CacheUnavailable."""

    def write_progress(self, task_id: str, fields: Mapping[str, str | int], *, expiry_s: float) -> None:
        """Replace the progress of a task."""

    def read_progress(self, task_id: str) -> Mapping[str, str] | None:
        """The progress of a task, or None."""

    def acquire_lock(self, name: str, owner: str, *, ttl_s: float, fence_above: int) -> int | None:
        """Acquire the lock for `ttl_s`. Returns its fencing token, or None if another owner holds the lock.

        The token is greater than every earlier token and than `fence_above`, the greatest token that the protected resource has
        seen: after a failover Redis may have forgotten its own counter.
        """

    def renew_lock(self, name: str, owner: str, *, ttl_s: float) -> bool:
        """Extend the lock to `ttl_s` from now; False: `owner` no longer holds it."""

    def release_lock(self, name: str, owner: str) -> bool:
        """Release the lock; False: `owner` no longer held it."""

    def count_in_window(self, limit: str, subject: str, *, n_max: int, window_s: float) -> float | None:
        """Count one event in the current window of `subject`. None: within the limit; else the seconds until the next window."""

    def ping(self) -> None:
        """Check that the cache answers."""

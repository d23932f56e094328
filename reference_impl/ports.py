"""The seams: what the reference system asks of the world, as Protocols over builtins and plain data.

Every call of a port may block, may fail, and is a place where a process can die; that is all a simulator needs to know. The
database port is SQLAlchemy's Engine itself.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reference_impl.attempt import Attempt
    from reference_impl.task import Claim


class Clock(Protocol):
    """This process's own sense of how time passes. Never compared between processes: for that there is the database's."""

    def monotonic_s(self) -> float:
        """Seconds since some instant, never going back."""

    def sleep(self, seconds: float) -> None:
        """Rest, also when it is time to end."""


class Entropy(Protocol):
    """Chance and names."""

    def uniform(self, low: float, high: float) -> float:
        """Any number in [low, high]."""

    def identifier(self) -> str:
        """A name nobody else has; names made later sort later (UUID version 7)."""


class Stop(Protocol):
    """The wish of whoever runs this process that it come to an end."""

    @property
    def requested(self) -> bool:
        """Whether it is time to end."""

    def wait(self, timeout_s: float) -> bool:
        """Rest for that long, or until it is time to end; whether it is."""


@dataclass(frozen=True, slots=True)
class Message:
    """What goes to a queue: `id` is the outbox row's, `body` a small JSON document."""

    id: str
    queue: str
    body: bytes


class PublishOutcome(enum.Enum):
    """What became of one published message."""

    CONFIRMED = "confirmed"  # the broker has it on disk
    RETURNED = "returned"  # no queue takes it
    REFUSED = "refused"  # the broker said no
    UNKNOWN = "unknown"  # no answer came: it may be in the queue


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as a consumer got it; `tag` is for the acknowledgement on the same consumer, and only there."""

    tag: int
    body: bytes
    redelivered: bool


class Publisher(Protocol):
    """A channel with publisher confirms."""

    def publish(self, messages: Sequence[Message], *, timeout_s: float) -> Sequence[PublishOutcome]:
        """Send all, wait for all confirms; what became of each, in order.

        Raises:
            BrokerUnavailable: there was no connection to begin with.
        """

    def close(self) -> None:
        """Let go of the channel. Never raises."""


class Consumer(Protocol):
    """A channel that consumes one queue with acknowledgements and bounded prefetch."""

    def receive(self, *, timeout_s: float) -> Delivery | None:
        """The next message, or None if none came in time.

        Raises:
            BrokerConnectionLost: the channel is gone; what was not acknowledged will be delivered again.
        """

    def ack(self, delivery: Delivery) -> None:
        """Say that the message is dealt with. No answer comes: it may be lost.

        Raises:
            BrokerConnectionLost: as above.
        """

    def reject(self, delivery: Delivery, *, requeue: bool) -> None:
        """Give the message back, or (not requeued) have it dead-lettered.

        Raises:
            BrokerConnectionLost: as above.
        """

    def close(self) -> None:
        """Let go of the channel; what was not acknowledged goes back to the queue. Never raises."""


@dataclass(frozen=True, slots=True)
class Topology:
    """The durable queues of the system: work, and dead letters, to which a poisonous message goes by itself too."""

    work_queue: str
    dead_queue: str
    delivery_limit: int


class Broker(Protocol):
    """RabbitMQ, or what stands in for it. Any method may raise BrokerUnavailable."""

    def declare(self, topology: Topology) -> None:
        """Make the queues; idempotent."""

    def open_publisher(self) -> Publisher:
        """A new channel with confirms."""

    def open_consumer(self, queue: str, *, prefetch: int) -> Consumer:
        """A new channel that consumes; at most `prefetch` messages unacknowledged."""

    def depth(self, queue: str) -> int:
        """Messages ready in the queue."""

    def close(self) -> None:
        """Let go of everything. Never raises."""


class Cache(Protocol):
    """Fast state in Redis, as a few named operations, each atomic. All may raise CacheUnavailable."""

    def write_progress(self, task_id: str, fields: Mapping[str, str | int], *, expiry_s: float) -> None:
        """Replace the progress of a task."""

    def read_progress(self, task_id: str) -> Mapping[str, str] | None:
        """The progress of a task, or None."""

    def acquire_lock(self, name: str, owner: str, *, ttl_s: float, fence_above: int) -> int | None:
        """Take the lock for `ttl_s`; its fencing token, greater than `fence_above` and than any token given before, or None if taken.

        `fence_above` is the greatest token that the protected resource has seen: after a failover Redis may have forgotten its own.
        """

    def renew_lock(self, name: str, owner: str, *, ttl_s: float) -> bool:
        """Hold it for another `ttl_s` from now; False: it is no longer the owner's."""

    def release_lock(self, name: str, owner: str) -> bool:
        """Give it up, if it is still the owner's."""

    def count_in_window(self, limit: str, subject: str, *, n_max: int, window_s: float) -> float | None:
        """Count one more in the subject's present window; None: allowed, else seconds until the next window."""

    def ping(self) -> None:
        """Answer."""


class Handler(Protocol):
    """The work itself, written by the user of the system: called once an attempt, outside any transaction."""

    def __call__(self, attempt: "Attempt") -> Mapping[str, object] | None:
        """Do it; what is returned (small) is kept as the task's result.

        Raises:
            PermanentFailure: no retry heals it.
            Exception: anything else is classified by `retry.classify`.
        """


class LeaderJob(Protocol):
    """Periodic work of which only one instance should run at a time; the fence is for the resource it writes to."""

    def __call__(self, fence: int) -> None:
        """Do it once."""


class Observer(Protocol):
    """Whoever wants to watch holders of leases and locks from inside; methods must be quick and must not raise."""

    def claimed(self, claim: "Claim", ttl_s: float) -> None:
        """An attempt holds its task's lease for another `ttl_s`."""

    def claim_renewed(self, claim: "Claim", ttl_s: float) -> None:
        """The heartbeat moved the lease on."""

    def claim_released(self, claim: "Claim") -> None:
        """The attempt is about to give its lease up."""

    def acknowledging(self, claim: "Claim") -> None:
        """The message of this attempt is about to be acknowledged."""

    def lock_acquired(self, name: str, fence: int, ttl_s: float) -> None:
        """This process holds the lock for another `ttl_s`."""

    def lock_renewed(self, name: str, fence: int, ttl_s: float) -> None:
        """It was moved on."""

    def lock_released(self, name: str, fence: int) -> None:
        """It is about to be given up."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What every loop is given first: time, chance, the wish to end, and whoever watches."""

    name: str
    clock: Clock
    entropy: Entropy
    stop: Stop
    observer: Observer

"""Broker and cache in memory, for the embedded mode. After a restart their content is rebuilt from the database."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reference_impl.errors import BrokerConnectionLost, BrokerUnavailable
from reference_impl.ports import Delivery, Message, PublishOutcome, Topology

PURGE_SIZE_MIN = 1000


@dataclass(frozen=True, slots=True)
class _Queued:
    """A message, and how often it has been requeued."""

    body: bytes
    returns: int = 0


class MemoryBroker:
    """Queues with confirms, acknowledgements, redelivery and a delivery limit, shared by the threads of one process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queues: dict[str, deque[_Queued]] = {}
        self._topology_of: dict[str, Topology] = {}

    def declare(self, topology: Topology) -> None:
        """Create the queues; existing ones keep their messages."""
        with self._changed:
            self._queues.setdefault(topology.work_queue, deque())
            self._queues.setdefault(topology.dead_queue, deque())
            self._topology_of[topology.work_queue] = topology

    def open_publisher(self) -> "MemoryPublisher":
        """A publisher; there is no connection that could fail."""
        return MemoryPublisher(self)

    def open_consumer(self, queue: str, *, prefetch: int) -> "MemoryConsumer":
        """A consumer that receives one message at a time, independently of `prefetch`."""
        with self._changed:
            self._queue(queue)
        return MemoryConsumer(self, queue)

    def depth(self, queue: str) -> int:
        """Number of messages in the queue, without those that a consumer holds."""
        with self._changed:
            return len(self._queue(queue))

    def close(self) -> None:
        """Without effect."""

    def _queue(self, name: str) -> deque[_Queued]:
        try:
            return self._queues[name]
        except KeyError:
            raise BrokerUnavailable(f"there is no queue {name!r}") from None

    def _put(self, queue: str, body: bytes) -> bool:
        """Append the message; False: there is no such queue."""
        with self._changed:
            if queue not in self._queues:
                return False
            self._queues[queue].append(_Queued(body))
            self._changed.notify_all()
            return True

    def _take(self, queue: str, timeout_s: float) -> _Queued | None:
        with self._changed:
            ready = self._queue(queue)
            if self._changed.wait_for(lambda: bool(ready), timeout_s):
                return ready.popleft()
            return None

    def _return(self, queue: str, kept: _Queued) -> None:
        """Requeue at the head, or dead-letter a message that has reached the delivery limit."""
        again = _Queued(kept.body, kept.returns + 1)
        if again.returns > self._topology_of[queue].delivery_limit:
            self._dead_letter(queue, kept)
            return
        with self._changed:
            self._queues[queue].appendleft(again)
            self._changed.notify_all()

    def _dead_letter(self, queue: str, kept: _Queued) -> None:
        self._put(self._topology_of[queue].dead_queue, kept.body)


class MemoryPublisher:
    """Confirms at once: there is no disk to wait for."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker

    def publish(self, messages: Sequence[Message], *, timeout_s: float) -> Sequence[PublishOutcome]:
        """Append the messages; RETURNED where there is no such queue."""
        return [
            PublishOutcome.CONFIRMED if self._broker._put(message.queue, message.body) else PublishOutcome.RETURNED
            for message in messages
        ]

    def close(self) -> None:
        """Without effect."""


class MemoryConsumer:
    """Receives one message at a time; unacknowledged messages are requeued by `close`."""

    def __init__(self, broker: MemoryBroker, queue: str) -> None:
        self._broker = broker
        self._queue = queue
        self._unacknowledged: dict[int, _Queued] = {}
        self._tag = 0
        self._closed = False

    def receive(self, *, timeout_s: float) -> Delivery | None:
        """Wait for the next message; threads of other consumers may take it first."""
        self._check_open()
        kept = self._broker._take(self._queue, timeout_s)
        if kept is None:
            return None
        self._tag += 1
        self._unacknowledged[self._tag] = kept
        return Delivery(self._tag, kept.body, redelivered=kept.returns > 0)

    def ack(self, delivery: Delivery) -> None:
        """Drop the message."""
        self._pop(delivery)

    def reject(self, delivery: Delivery, *, requeue: bool) -> None:
        """Requeue or dead-letter the message."""
        kept = self._pop(delivery)
        if requeue:
            self._broker._return(self._queue, kept)
        else:
            self._broker._dead_letter(self._queue, kept)

    def close(self) -> None:
        """Requeue the unacknowledged messages, in their old order."""
        self._closed = True
        for kept in reversed(self._unacknowledged.values()):
            self._broker._return(self._queue, kept)
        self._unacknowledged.clear()

    def _pop(self, delivery: Delivery) -> _Queued:
        self._check_open()
        try:
            return self._unacknowledged.pop(delivery.tag)
        except KeyError:
            self.close()  # as RabbitMQ closes a channel that acknowledges an unknown tag
            raise BrokerConnectionLost(f"unknown delivery tag {delivery.tag}") from None

    def _check_open(self) -> None:
        if self._closed:
            raise BrokerConnectionLost("this consumer was closed")


@dataclass(slots=True)
class _Entry:
    value: object
    expires_s: float


class MemoryCache:
    """Progress, locks and limits in a dict with expiry; windows begin by the clock `wall_s`."""

    def __init__(
        self, monotonic_s: Callable[[], float] = time.monotonic, wall_s: Callable[[], float] = time.time
    ) -> None:
        self._monotonic_s = monotonic_s
        self._wall_s = wall_s
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._fences: dict[str, int] = {}
        self._purge_at = PURGE_SIZE_MIN

    def write_progress(self, task_id: str, fields: Mapping[str, str | int], *, expiry_s: float) -> None:
        """Replace the fields; values become strings, as in Redis."""
        with self._lock:
            self._put(f"progress:{task_id}", {name: str(value) for name, value in fields.items()}, expiry_s)

    def read_progress(self, task_id: str) -> Mapping[str, str] | None:
        """The fields, unless they have expired."""
        with self._lock:
            fields = self._get(f"progress:{task_id}")
            return fields if isinstance(fields, dict) else None

    def acquire_lock(self, name: str, owner: str, *, ttl_s: float, fence_above: int) -> int | None:
        """The next fencing token, if the lock is free or expired."""
        with self._lock:
            if self._get(f"lock:{name}") is not None:
                return None
            self._put(f"lock:{name}", owner, ttl_s)
            self._fences[name] = max(self._fences.get(name, 0), fence_above) + 1
            return self._fences[name]

    def renew_lock(self, name: str, owner: str, *, ttl_s: float) -> bool:
        """Extend the lock, if `owner` still holds it."""
        with self._lock:
            if self._get(f"lock:{name}") != owner:
                return False
            self._put(f"lock:{name}", owner, ttl_s)
            return True

    def release_lock(self, name: str, owner: str) -> bool:
        """Delete the lock, if `owner` still holds it."""
        with self._lock:
            if self._get(f"lock:{name}") != owner:
                return False
            del self._entries[f"lock:{name}"]
            return True

    def count_in_window(self, limit: str, subject: str, *, n_max: int, window_s: float) -> float | None:
        """Count in the entry of the window, which expires at the window's end."""
        now_s = self._wall_s()
        end_s = (now_s // window_s + 1) * window_s
        with self._lock:
            count = self._get(f"limit:{limit}:{subject}")
            seen = count if isinstance(count, int) else 0
            if seen >= n_max:
                return end_s - now_s
            self._put(f"limit:{limit}:{subject}", seen + 1, end_s - now_s)
            return None

    def ping(self) -> None:
        """Always succeeds."""

    def _get(self, key: str) -> object:
        entry = self._entries.get(key)
        if entry is None or entry.expires_s <= self._monotonic_s():
            self._entries.pop(key, None)
            return None
        return entry.value

    def _put(self, key: str, value: object, expiry_s: float) -> None:
        self._entries[key] = _Entry(value, self._monotonic_s() + expiry_s)
        if len(self._entries) >= self._purge_at:
            self._purge()

    def _purge(self) -> None:
        """Delete expired entries that are never read again. The threshold doubles, so the cost per put is constant (amortised)."""
        now_s = self._monotonic_s()
        self._entries = {key: entry for key, entry in self._entries.items() if entry.expires_s > now_s}
        self._purge_at = max(PURGE_SIZE_MIN, 2 * len(self._entries))

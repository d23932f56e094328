"""Broker and cache inside the process, for the embedded mode: what they hold is rebuilt from the database after a restart."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reference_impl.errors import BrokerConnectionLost
from reference_impl.ports import Delivery, Message, PublishOutcome, Topology


class _Queue:
    """Messages ready to be delivered, with whether they were before."""

    def __init__(self) -> None:
        self.ready: deque[tuple[bytes, bool]] = deque()


class MemoryBroker:
    """Queues with confirms, acknowledgements and redelivery, for the threads of one process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queues: dict[str, _Queue] = {}
        self._dead_queue_of: dict[str, str] = {}

    def declare(self, topology: Topology) -> None:
        """See ports.Broker."""
        with self._changed:
            self._queues.setdefault(topology.work_queue, _Queue())
            self._queues.setdefault(topology.dead_queue, _Queue())
            self._dead_queue_of[topology.work_queue] = topology.dead_queue

    def open_publisher(self) -> "MemoryPublisher":
        """See ports.Broker."""
        return MemoryPublisher(self)

    def open_consumer(self, queue: str, *, prefetch: int) -> "MemoryConsumer":
        """See ports.Broker."""
        return MemoryConsumer(self, queue)

    def depth(self, queue: str) -> int:
        """See ports.Broker."""
        with self._changed:
            return len(self._queues[queue].ready)

    def close(self) -> None:
        """See ports.Broker."""

    def _put(self, queue: str, body: bytes, *, redelivered: bool) -> bool:
        with self._changed:
            if queue not in self._queues:
                return False
            if redelivered:
                self._queues[queue].ready.appendleft((body, True))
            else:
                self._queues[queue].ready.append((body, False))
            self._changed.notify_all()
            return True

    def _take(self, queue: str, timeout_s: float) -> tuple[bytes, bool] | None:
        with self._changed:
            ready = self._queues[queue].ready
            if self._changed.wait_for(lambda: bool(ready), timeout_s):
                return ready.popleft()
            return None

    def _bury(self, queue: str, body: bytes) -> None:
        dead_queue = self._dead_queue_of.get(queue)
        if dead_queue is not None:
            self._put(dead_queue, body, redelivered=False)


class MemoryPublisher:
    """Confirms at once: what is in memory is as safe as it will be."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker

    def publish(self, messages: Sequence[Message], *, timeout_s: float) -> Sequence[PublishOutcome]:
        """See ports.Publisher."""
        return [
            PublishOutcome.CONFIRMED
            if self._broker._put(message.queue, message.body, redelivered=False)
            else PublishOutcome.RETURNED
            for message in messages
        ]

    def close(self) -> None:
        """See ports.Publisher."""


class MemoryConsumer:
    """Takes one message at a time; what is not acknowledged goes back when it is closed."""

    def __init__(self, broker: MemoryBroker, queue: str) -> None:
        self._broker = broker
        self._queue = queue
        self._unacknowledged: dict[int, bytes] = {}
        self._tag = 0
        self._closed = False

    def receive(self, *, timeout_s: float) -> Delivery | None:
        """See ports.Consumer."""
        self._check_open()
        taken = self._broker._take(self._queue, timeout_s)
        if taken is None:
            return None
        body, redelivered = taken
        self._tag += 1
        self._unacknowledged[self._tag] = body
        return Delivery(self._tag, body, redelivered)

    def ack(self, delivery: Delivery) -> None:
        """See ports.Consumer."""
        self._check_open()
        del self._unacknowledged[delivery.tag]

    def reject(self, delivery: Delivery, *, requeue: bool) -> None:
        """See ports.Consumer."""
        self._check_open()
        body = self._unacknowledged.pop(delivery.tag)
        if requeue:
            self._broker._put(self._queue, body, redelivered=True)
        else:
            self._broker._bury(self._queue, body)

    def close(self) -> None:
        """See ports.Consumer."""
        self._closed = True
        for body in reversed(self._unacknowledged.values()):
            self._broker._put(self._queue, body, redelivered=True)
        self._unacknowledged.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise BrokerConnectionLost("this consumer was closed")


@dataclass(slots=True)
class _Entry:
    value: object
    expires_s: float


class MemoryCache:
    """Progress, locks and limits in a dict with expiry."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._fences: dict[str, int] = {}

    def write_progress(self, task_id: str, fields: Mapping[str, str | int], *, expiry_s: float) -> None:
        """See ports.Cache."""
        with self._lock:
            self._put(f"progress:{task_id}", {name: str(value) for name, value in fields.items()}, expiry_s)

    def read_progress(self, task_id: str) -> Mapping[str, str] | None:
        """See ports.Cache."""
        with self._lock:
            fields = self._get(f"progress:{task_id}")
            return fields if isinstance(fields, dict) else None

    def acquire_lock(self, name: str, owner: str, *, ttl_s: float, fence_above: int) -> int | None:
        """See ports.Cache."""
        with self._lock:
            if self._get(f"lock:{name}") is not None:
                return None
            self._put(f"lock:{name}", owner, ttl_s)
            self._fences[name] = max(self._fences.get(name, 0), fence_above) + 1
            return self._fences[name]

    def renew_lock(self, name: str, owner: str, *, ttl_s: float) -> bool:
        """See ports.Cache."""
        with self._lock:
            if self._get(f"lock:{name}") != owner:
                return False
            self._put(f"lock:{name}", owner, ttl_s)
            return True

    def release_lock(self, name: str, owner: str) -> bool:
        """See ports.Cache."""
        with self._lock:
            if self._get(f"lock:{name}") != owner:
                return False
            del self._entries[f"lock:{name}"]
            return True

    def count_in_window(self, limit: str, subject: str, *, n_max: int, window_s: float) -> float | None:
        """See ports.Cache."""
        now_s = time.time()
        end_s = (now_s // window_s + 1) * window_s
        with self._lock:
            count = self._get(f"limit:{limit}:{subject}")
            seen = count if isinstance(count, int) else 0
            if seen >= n_max:
                return end_s - now_s
            self._put(f"limit:{limit}:{subject}", seen + 1, end_s - now_s)
            return None

    def ping(self) -> None:
        """See ports.Cache."""

    def _get(self, key: str) -> object:
        entry = self._entries.get(key)
        if entry is None or entry.expires_s <= self._monotonic_s():
            self._entries.pop(key, None)
            return None
        return entry.value

    def _put(self, key: str, value: object, expiry_s: float) -> None:
        self._entries[key] = _Entry(value, self._monotonic_s() + expiry_s)

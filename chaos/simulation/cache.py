"""Redis as a few atomic operations: a primary, a lagging replica, and a failover that loses the writes not yet replicated."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from chaos.simulation.kernel.scheduler import Scheduler
from chaos.simulation.network.network import Line, LineCut, Service

T = TypeVar("T")

NS_PER_MS = 1_000_000
NEVER_NS = 2**63


@dataclass(frozen=True, slots=True)
class _Entry:
    value: object
    expires_ns: int = NEVER_NS


class CacheServer(Service):
    """Keys with expiry; every write reaches the replica `lag_ns` later. `epoch_ns`: its wall clock at the start of the world.

    If `answers_fast_state` is False, progress and counters fail. If `excludes` is False, every request gets the lock, with a new fence.
    """

    def __init__(self, scheduler: Scheduler, *, epoch_ns: int, lag_ns: Callable[[], int]) -> None:
        super().__init__("redis")
        self.answers_fast_state = True
        self.excludes = True
        self._scheduler = scheduler
        self._epoch_ns = epoch_ns
        self._lag_ns = lag_ns
        self._entries: dict[str, _Entry] = {}
        self._replica: dict[str, _Entry] = {}
        self._under_way: deque[tuple[int, str, _Entry | None]] = deque()
        self._holds_replication = False

    def get(self, key: str) -> object:
        """The value, or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.expires_ns <= self._scheduler.now_ns:
            self._write(key, None)
            return None
        return entry.value

    def put(self, key: str, value: object, expiry_ms: int | None = None) -> None:
        """Set the key, with an expiry or without."""
        expires_ns = NEVER_NS if expiry_ms is None else self._scheduler.now_ns + expiry_ms * NS_PER_MS
        self._write(key, _Entry(value, expires_ns))

    def delete(self, key: str) -> None:
        """Delete the key."""
        self._write(key, None)

    def ms_to_window_end(self, window_ms: int) -> int:
        """Milliseconds until the next multiple of `window_ms` on its wall clock."""
        now_ms = (self._epoch_ns + self._scheduler.now_ns) // NS_PER_MS
        return window_ms - now_ms % window_ms

    def hold_replication(self) -> None:
        """From now on no write reaches the replica, until it takes over or the primary starts again."""
        self._replicate()
        self._holds_replication = True

    def fail_over(self) -> None:
        """The replica takes over, with the writes that had reached it when the primary died."""
        self._replicate()
        self._entries = dict(self._replica)
        self._under_way.clear()

    def forget(self, keys: Iterable[str]) -> None:
        """Lose these keys, on primary and replica."""
        for key in keys:
            self._entries.pop(key, None)
            self._replica.pop(key, None)
        self._under_way.clear()

    def keys(self) -> list[str]:
        """The keys that have not expired, in the order of their first writes."""
        return [key for key, entry in self._entries.items() if entry.expires_ns > self._scheduler.now_ns]

    def kill(self) -> None:
        """Kill the primary: writes that have not reached the replica never reach it."""
        super().kill()
        self._replicate()
        self._under_way.clear()

    def start(self) -> None:
        """Restart with all data: it is in the append-only file."""
        super().start()
        self._holds_replication = False
        self._replica = dict(self._entries)

    def _write(self, key: str, entry: _Entry | None) -> None:
        if entry is None:
            self._entries.pop(key, None)
        else:
            self._entries[key] = entry
        last_ns = self._under_way[-1][0] if self._under_way else 0
        self._under_way.append((max(last_ns, self._scheduler.now_ns + self._lag_ns()), key, entry))
        self._replicate()

    def _replicate(self) -> None:
        while not self._holds_replication and self._under_way and self._under_way[0][0] <= self._scheduler.now_ns:
            _, key, entry = self._under_way.popleft()
            if entry is None:
                self._replica.pop(key, None)
            else:
                self._replica[key] = entry


class CacheErrorFactory(Protocol):
    """Makes the system's own error for a failure of the cache."""

    def cache_unavailable(self, why: str) -> Exception:
        """Redis did not answer; whether the operation took effect is unknown."""


class SimulatedCache:
    """The port: each operation is one atomic round trip."""

    def __init__(self, server: CacheServer, line: Line, errors: CacheErrorFactory, *, timeout_ns: int) -> None:
        self._server = server
        self._line = line
        self._errors = errors
        self._timeout_ns = timeout_ns

    def write_progress(self, task_id: str, fields: Mapping[str, str | int], *, expiry_s: float) -> None:
        """Replace the progress of a task."""
        kept = {name: str(value) for name, value in fields.items()}
        self._ask_fast("write progress", lambda: self._server.put(f"progress:{task_id}", kept, _ms(expiry_s)))

    def read_progress(self, task_id: str) -> Mapping[str, str] | None:
        """The progress of a task, or None."""
        fields = self._ask_fast("read progress", lambda: self._server.get(f"progress:{task_id}"))
        return fields if isinstance(fields, dict) else None

    def acquire_lock(self, name: str, owner: str, *, ttl_s: float, fence_above: int) -> int | None:
        """Take the lock; its fence, or None if taken."""
        server = self._server

        def act() -> int | None:
            if server.excludes and server.get(f"lock:{name}") is not None:
                return None
            last = server.get(f"fence:{name}")
            fence = max(last if isinstance(last, int) else 0, fence_above) + 1
            server.put(f"lock:{name}", owner, _ms(ttl_s))
            server.put(f"fence:{name}", fence)
            return fence

        return self._ask("acquire lock", act)

    def renew_lock(self, name: str, owner: str, *, ttl_s: float) -> bool:
        """Extend the lock, if the owner still holds it."""
        server = self._server

        def act() -> bool:
            if server.excludes and server.get(f"lock:{name}") != owner:
                return False
            server.put(f"lock:{name}", owner, _ms(ttl_s))
            return True

        return self._ask("renew lock", act)

    def release_lock(self, name: str, owner: str) -> bool:
        """Release the lock, if the owner still holds it."""
        server = self._server

        def act() -> bool:
            if server.get(f"lock:{name}") != owner:
                return False
            server.delete(f"lock:{name}")
            return True

        return self._ask("release lock", act)

    def delete_lock(self, name: str) -> None:
        """DEL without a check of the owner, as a faulty system does."""
        self._ask("delete lock", lambda: self._server.delete(f"lock:{name}"))

    def count_in_window(self, limit: str, subject: str, *, n_max: int, window_s: float) -> float | None:
        """Count a request in the subject's current window; None: allowed, else seconds until the next window."""
        server = self._server

        def act() -> float | None:
            left_ms = server.ms_to_window_end(_ms(window_s))
            key = f"limit:{limit}:{subject}"
            count = server.get(key)
            seen = count if isinstance(count, int) else 0
            if seen >= n_max:
                return left_ms / 1000
            server.put(key, seen + 1, left_ms)
            return None

        return self._ask_fast("count", act)

    def ping(self) -> None:
        """Answer."""
        self._ask("ping", lambda: None)

    def _ask_fast(self, what: str, act: Callable[[], T]) -> T:
        if not self._server.answers_fast_state:
            self._ask(what, lambda: None)
            raise self._errors.cache_unavailable("it answers nothing but locks")
        return self._ask(what, act)

    def _ask(self, what: str, act: Callable[[], T]) -> T:
        try:
            return self._line.ask(what, act, timeout_ns=self._timeout_ns)
        except LineCut as cut:
            raise self._errors.cache_unavailable(cut.how) from cut


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))

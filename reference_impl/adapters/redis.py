"""The cache port over Redis. Each operation is one command, one MULTI block or one script, hence atomic."""

from collections.abc import Mapping, Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from reference_impl.adapters.circuit_breaker import CircuitBreaker

_ACQUIRE = """
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local fence = math.max(last, tonumber(ARGV[3])) + 1
redis.call('SET', KEYS[2], string.format('%d', fence))
return fence
"""
_RENEW = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
_RELEASE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""
_COUNT = """
local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
local window_ms = tonumber(ARGV[2])
local end_ms = (math.floor(now_ms / window_ms) + 1) * window_ms
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count >= tonumber(ARGV[1]) then return end_ms - now_ms end
redis.call('SET', KEYS[1], string.format('%d', count + 1), 'PXAT', string.format('%d', end_ms))
return 0
"""


class RedisCache:
    """Keys: `PREFIXtask:progress:ID`, `PREFIXlock:NAME`, `PREFIXfence:NAME` and `PREFIXlimit:NAME:SUBJECT`.

    The client never retries a command by itself: a command that Redis may have executed raises CacheUnavailable.
    """

    def __init__(self, client: "redis.Redis", prefix: str) -> None:
        self._client = client
        self._prefix = prefix
        self._breaker = CircuitBreaker(redis.RedisError, OSError)
        self._acquire = client.register_script(_ACQUIRE)
        self._renew = client.register_script(_RENEW)
        self._release = client.register_script(_RELEASE)
        self._count = client.register_script(_COUNT)

    def write_progress(self, task_id: str, fields: Mapping[str, str | int], *, expiry_s: float) -> None:
        """DEL, HSET and PEXPIRE in one MULTI block."""
        key = self._key("task:progress", task_id)

        def write() -> None:
            with self._client.pipeline(transaction=True) as commands:
                commands.delete(key)
                commands.hset(key, mapping=dict(fields.items()))
                commands.pexpire(key, _ms(expiry_s))
                commands.execute()

        self._breaker.call(write)

    def read_progress(self, task_id: str) -> Mapping[str, str] | None:
        """HGETALL; an expired key reads as empty."""
        fields: Mapping[str, str] = self._breaker.call(
            lambda: self._client.hgetall(self._key("task:progress", task_id))
        )
        return fields or None

    def acquire_lock(self, name: str, owner: str, *, ttl_s: float, fence_above: int) -> int | None:
        """SET NX PX, and if it succeeds the next fencing token, in one script."""
        keys = [self._key("lock", name), self._key("fence", name)]
        fence: int | None = self._breaker.call(lambda: self._acquire(keys, [owner, _ms(ttl_s), fence_above]))
        return fence

    def renew_lock(self, name: str, owner: str, *, ttl_s: float) -> bool:
        """PEXPIRE if `owner` still holds the lock, in one script."""
        return bool(self._breaker.call(lambda: self._renew([self._key("lock", name)], [owner, _ms(ttl_s)])))

    def release_lock(self, name: str, owner: str) -> bool:
        """DEL if `owner` still holds the lock, in one script."""
        return bool(self._breaker.call(lambda: self._release([self._key("lock", name)], [owner])))

    def count_in_window(self, limit: str, subject: str, *, n_max: int, window_s: float) -> float | None:
        """Compare and count in one script; the window begins by Redis's clock."""
        key = self._key("limit", f"{limit}:{subject}")
        wait_ms: int = self._breaker.call(lambda: self._count([key], [n_max, _ms(window_s)]))
        return wait_ms / 1000 if wait_ms else None

    def ping(self) -> None:
        """PING."""
        self._breaker.call(self._client.ping)

    def _key(self, kind: str, name: str) -> str:
        return f"{self._prefix}{kind}:{name}"


def redis_cache(
    url: str, *, sentinels: Sequence[tuple[str, int]], primary_name: str, prefix: str, io_timeout_s: float
) -> RedisCache:
    """The cache at `url`; if Sentinels are given, each new connection goes to the primary that they name."""
    options: dict[str, Any] = {
        "socket_timeout": io_timeout_s,
        "socket_connect_timeout": io_timeout_s,
        "retry": Retry(NoBackoff(), 0),
        "decode_responses": True,
    }
    if not sentinels:
        return RedisCache(redis.Redis.from_url(url, **options), prefix)
    sentinel = Sentinel(list(sentinels), sentinel_kwargs=options, **options)  # type: ignore[no-untyped-call]
    return RedisCache(sentinel.master_for(primary_name), prefix)  # type: ignore[no-untyped-call]


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))

"""Every key of a Redis, with its value."""

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from chaos.errors import ServiceUnavailable
from chaos.services.addresses import RedisAddress
from chaos.services.contents import CONTENTS_MAX, TIMEOUT_S, ServiceItem
from chaos.services.redis import server


def read_contents(address: RedisAddress) -> Iterator[ServiceItem]:
    """Item by item of lists, sets, hashes, sorted sets and streams; every other key as a whole; `CONTENTS_MAX` keys, as many items each.

    Raises:
        ServiceUnavailable: the server does not answer.
    """
    host, port = server.present_primary(address)
    try:
        with closing(_client(host, port)) as client:
            for key in islice(client.scan_iter(count=1_000), CONTENTS_MAX):
                name = _text(key)
                kind = _text(client.type(key))
                for item in islice(_items(client, key, kind), CONTENTS_MAX):
                    yield ServiceItem(f"redis {kind} {name}", f"{name} {item}")
    except redis.RedisError as error:
        raise ServiceUnavailable("redis", f"its keys cannot be read: {error}") from error


def _client(host: str, port: int) -> "redis.Redis":
    """One that leaves values as bytes: they need not be text."""
    return redis.Redis(
        host=host, port=port, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=Retry(NoBackoff(), 0)
    )


def _items(client: "redis.Redis", key: bytes, kind: str) -> Iterator[str]:
    read: Any = {
        "string": lambda: [client.get(key)],
        "list": lambda: client.lrange(key, 0, CONTENTS_MAX - 1),
        "set": lambda: client.sscan_iter(key),
        "hash": lambda: (b"%s %s" % item for item in client.hscan_iter(key)),
        "zset": lambda: (b"%s score %.3f" % item for item in client.zscan_iter(key)),
        "stream": lambda: (json.dumps(item, default=_text) for item in _stream(client, key)),
    }.get(kind, lambda: [b""])
    return map(_text, read())


def _stream(client: "redis.Redis", key: bytes) -> list[Any]:
    entries: Any = client.xrange(key, count=CONTENTS_MAX)
    return [[number, {_text(name): _text(value) for name, value in fields.items()}] for number, fields in entries]


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

"""The descriptor of Redis."""

import time
from contextlib import closing

import redis

from chaos.errors import ChaosError, ServiceUnavailable
from chaos.services.addresses import RedisAddress
from chaos.services.descriptor import ProxyKind, ServiceDescriptor
from chaos.services.exchange import as_os_errors
from chaos.services.redis import server
from chaos.services.redis.container import RedisContainer
from chaos.services.redis.contents import read_contents
from chaos.services.redis.plain import PlainRedisServer
from chaos.services.url import split_url

KEYS_PER_SCAN = 1_000


class RedisExchange:
    """Requests an ECHO of a text."""

    def __init__(self, address: RedisAddress, timeout_s: float) -> None:
        self._client = server.client(address.host, address.port, timeout_s)
        try:
            with as_os_errors(redis.RedisError, timeouts=(redis.TimeoutError,)):
                self._client.ping()
        except OSError:
            self._client.close()
            raise

    def ask(self, reply_bytes: int = 0) -> float:
        """Seconds until the text is complete."""
        began_s = time.monotonic()
        with as_os_errors(redis.RedisError, timeouts=(redis.TimeoutError,)):
            self._client.echo("x" * reply_bytes)
        return time.monotonic() - began_s

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def read_url(url: str) -> RedisAddress:
    """`redis://host:port`."""
    parts = split_url(url, ("redis",))
    if parts.password or parts.path not in ("", "/", "/0"):
        raise ChaosError(
            "a redis URL must have neither a password nor a database other than 0: systems are given host and port only"
        )
    return RedisAddress(str(parts.hostname), parts.port or 6379)


def remove(address: RedisAddress, namespace: str) -> None:
    """Remove all keys with that prefix."""
    try:
        with closing(server.client(address.host, address.port)) as client:
            for key in client.scan_iter(match=f"{namespace}*", count=KEYS_PER_SCAN):
                client.delete(key)
    except redis.RedisError as error:
        raise ServiceUnavailable("redis", f"keys of {namespace} cannot be removed: {error}") from error


def provision(address: RedisAddress, namespace: str) -> RedisAddress:
    """Remove the keys with the prefix, and check that no other key is left: those are not the lab's, and the system may see them.

    Raises:
        ServiceUnavailable: other keys are left; the message names some.
    """
    remove(address, namespace)
    try:
        with closing(server.client(address.host, address.port)) as client:
            left = server.foreign_keys(client)
    except redis.RedisError as error:
        raise ServiceUnavailable("redis", f"its keys cannot be listed: {error}") from error
    if left:
        raise ServiceUnavailable(
            "redis", f"not clean: it holds {left}, visible to this run; give the lab an empty Redis"
        )
    return address


def proxy_kinds(address: RedisAddress) -> tuple[ProxyKind, ...]:
    """None with Sentinels: clients ask them for the primary, and their answer bypasses any proxy."""
    return () if address.sentinels else ("proxy",)


DESCRIPTOR = ServiceDescriptor(
    name="redis",
    address=RedisAddress,
    server=PlainRedisServer,
    container=RedisContainer,
    image="redis:7",
    read_url=read_url,
    missing=lambda address: server.missing_write(address.host, address.port),
    version=lambda address: server.read_version(address.host, address.port),
    open_exchange=RedisExchange,
    provision=provision,
    remove=remove,
    contents=lambda address, _: read_contents(address),
    proxy_kinds=proxy_kinds,
    replicated=server.RedisServer,
)

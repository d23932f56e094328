"""Redis in a container, as the official image documents it."""

from collections.abc import Mapping
from dataclasses import replace

from chaos.ports import LOOPBACK
from chaos.services.addresses import RedisAddress, Services
from chaos.services.container import ContainerService
from chaos.services.redis import server as redis


class RedisContainer(ContainerService):
    """The image of Redis, as one node without replica or Sentinels; reachable from this machine only, so without a password."""

    name = "redis"
    inner_port = 6379
    command = ("redis-server", "--protected-mode", "no", *redis.DURABLE)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {}

    def missing(self) -> str:
        """The problem, or "" when a write can be read again."""
        return redis.missing_write(LOOPBACK, self.port)

    def version(self) -> str:
        """From INFO."""
        return redis.read_version(LOOPBACK, self.port)

    def provide(self, services: Services) -> Services:
        """The services of a run with the address of this one, without any key."""
        redis.empty(LOOPBACK, self.port)
        return replace(services, redis=RedisAddress(LOOPBACK, self.port))

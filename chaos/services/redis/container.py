"""Redis in a container, by what the official image documents."""

from collections.abc import Mapping
from dataclasses import replace

from chaos.ports import LOOPBACK
from chaos.services.addresses import RedisAddress, Services
from chaos.services.container import ContainerService
from chaos.services.redis import server as redis


class RedisContainer(ContainerService):
    """Redis' image, as one node without replica or Sentinels; only this machine reaches it, so it needs no password."""

    name = "redis"
    inner_port = 6379
    command = ("redis-server", "--protected-mode", "no", *redis.DURABLE)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {}

    def missing(self) -> str:
        """What a write lacks."""
        return redis.missing_write(LOOPBACK, self.port)

    def version(self) -> str:
        """As INFO says."""
        return redis.read_version(LOOPBACK, self.port)

    def provide(self, services: Services) -> Services:
        """With its address."""
        return replace(services, redis=RedisAddress(LOOPBACK, self.port))

"""The local world: services of the lab's own on loopback ports, in a temporary directory, under the lab's warden."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from chaos.environment import Services
from chaos.environments.serving import ServingEnvironment
from chaos.faults import FailOverRedis, Fault
from chaos.hosting.processes import HostedProcess
from chaos.hosting.warden_client import WardenClient
from chaos.injection import Injection
from chaos.injectors.redis import RedisFailover
from chaos.ports import PortLease
from chaos.services.mysql.server import MysqlServer
from chaos.services.rabbitmq.server import RabbitmqServer
from chaos.services.redis.server import RedisServer
from chaos.services.service import OwnService

SERVERS: Mapping[str, Callable[[WardenClient, Path, PortLease], OwnService]] = {
    "mysql": MysqlServer,
    "redis": RedisServer,
    "rabbitmq": RabbitmqServer,
}


class LocalEnvironment(ServingEnvironment):
    """MariaDB or MySQL, Redis with a replica and Sentinels, and RabbitMQ, started by the lab and gone with it."""

    name = "local"

    def _make_services(self) -> Sequence[OwnService]:
        return [
            server(self._warden, self.directory, self._ports) for name, server in SERVERS.items() if name in self.offers
        ]

    def _service_injection(self, fault: Fault, services: Services, processes: Mapping[str, HostedProcess]) -> Injection:
        if isinstance(fault, FailOverRedis):
            server = self._service("redis")
            assert isinstance(server, RedisServer)
            return RedisFailover(server)
        return super()._service_injection(fault, services, processes)

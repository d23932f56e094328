"""The local world: services of the lab's own on loopback ports, in a temporary directory, under the lab's warden."""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import replace
from types import MappingProxyType

from chaos.deadline import Deadline
from chaos.environment import SERVICE_NAMES, Injection, ServiceName, Services
from chaos.environments.hosted import HostedEnvironment
from chaos.environments.processes import HostedProcess
from chaos.errors import ChaosError
from chaos.faults import FailOverRedis, Fault, KillService
from chaos.injectors.redis import RedisFailover
from chaos.injectors.services import ServiceKill
from chaos.services import mysql
from chaos.services.mysql import MysqlServer
from chaos.services.rabbitmq import RabbitmqServer
from chaos.services.redis import RedisServer
from chaos.services.server import Server

START_TIMEOUT_S = 60.0


class LocalEnvironment(HostedEnvironment):
    """MariaDB or MySQL, Redis with a replica and Sentinels, and RabbitMQ, started by the lab and gone with it.

    `services`: those to start; the others are not offered. One run at a time: a `provision` closes the links of the run before.
    """

    name = "local"

    def __init__(
        self, services: Iterable[ServiceName] = SERVICE_NAMES, *, start_timeout_s: float = START_TIMEOUT_S
    ) -> None:
        super().__init__()
        wanted = set(services)
        if unknown := wanted - set(SERVICE_NAMES):
            raise ChaosError(f"no service is called {', '.join(sorted(unknown))}; there are {', '.join(SERVICE_NAMES)}")
        self.offers = frozenset(wanted)
        self._start_timeout_s = start_timeout_s
        self._startup_s: dict[str, float] = {}
        self._mysql: MysqlServer | None = None
        self._redis: RedisServer | None = None
        self._rabbitmq: RabbitmqServer | None = None

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered a full round trip."""
        return MappingProxyType(self._startup_s)

    def versions(self) -> Mapping[str, str]:
        """Version of each service, as it says itself."""
        return {**{server.name: server.version() for server in self._servers}, **super().versions()}

    def check_health(self, timeout_s: float) -> None:
        """See `Environment.check_health`. One deadline for all services."""
        super().check_health(timeout_s)
        deadline = Deadline.after(timeout_s)
        for server in self._servers:
            server.await_ready(deadline)

    def _start_services(self) -> None:
        common = self._warden, self.directory, self._ports
        if "mysql" in self.offers:
            self._mysql = MysqlServer(*common)
        if "redis" in self.offers:
            self._redis = RedisServer(*common)
        if "rabbitmq" in self.offers:
            self._rabbitmq = RabbitmqServer(*common)
        deadline = Deadline.after(self._start_timeout_s)
        pool = ThreadPoolExecutor(len(SERVICE_NAMES), thread_name_prefix="start")
        try:
            starts = [pool.submit(self._start, server, deadline) for server in self._servers]
            for start in wait_for(starts, return_when=FIRST_EXCEPTION).done:
                start.result()
        finally:
            # Not waiting: after a failure the others end as soon as the warden is closed, and that is the next thing done.
            pool.shutdown(wait=False)

    def _start(self, server: Server, deadline: Deadline) -> None:
        began_s = time.monotonic()
        server.start(deadline)
        self._startup_s[server.name] = round(time.monotonic() - began_s, 3)

    def _fill(self, services: Services) -> Services:
        address = self._mysql.address(services.namespace) if self._mysql else None
        if address:
            mysql.create_database(address)
        return replace(
            services,
            mysql=address,
            redis=self._redis.address() if self._redis else None,
            rabbitmq=self._rabbitmq.address() if self._rabbitmq else None,
        )

    def _service_injection(self, fault: Fault, services: Services, processes: Mapping[str, HostedProcess]) -> Injection:
        match fault:
            case KillService(service):
                return ServiceKill(self._server(service))
            case FailOverRedis():
                server = self._server("redis")
                assert isinstance(server, RedisServer)
                return RedisFailover(server)
        return super()._service_injection(fault, services, processes)

    @property
    def _servers(self) -> list[Server]:
        return [server for server in (self._mysql, self._redis, self._rabbitmq) if server is not None]

    def _server(self, name: str) -> Server:
        for server in self._servers:
            if server.name == name:
                return server
        raise ChaosError(f"this environment has no service {name!r}; it has {', '.join(sorted(self.offers)) or 'none'}")

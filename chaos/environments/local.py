"""The local environment: the lab starts its own services on loopback ports, in a temporary directory, under its warden."""

from collections.abc import Iterable, Sequence

from chaos.environment import SERVICE_NAMES, ServiceName
from chaos.environments.serving import START_TIMEOUT_S, ServingEnvironment
from chaos.injectors.injector import Capability
from chaos.services.declared.program import ServiceProgram
from chaos.services.registry import descriptor
from chaos.services.service import OwnService


class LocalEnvironment(ServingEnvironment):
    """MariaDB or MySQL, Redis, RabbitMQ and PostgreSQL, started by the lab and removed with it.

    `sentinels`: Redis has a replica and three Sentinels; for systems that ask them. Otherwise it is one server, which can be linked.
    """

    name = "local"
    capabilities = frozenset(Capability)

    def __init__(
        self,
        services: Iterable[ServiceName] = SERVICE_NAMES,
        *,
        declared: Sequence[ServiceProgram] = (),
        sentinels: bool = True,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        super().__init__(services, declared=declared, start_timeout_s=start_timeout_s)
        self._sentinels = sentinels
        if not sentinels:
            self.capabilities = self.capabilities - {Capability.SENTINELS}

    def _make_services(self) -> Sequence[OwnService]:
        return [self._made(name) for name in self._served]

    def _made(self, name: ServiceName) -> OwnService:
        service = descriptor(name)
        make = (service.replicated if self._sentinels else None) or service.server
        return make(self._warden, self.directory, self._ports)

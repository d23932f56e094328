"""The local environment: the lab starts its own services on loopback ports, in a temporary directory, under its warden."""

from collections.abc import Sequence

from chaos.environments.serving import ServingEnvironment
from chaos.injectors.injector import Capability
from chaos.services.registry import descriptor
from chaos.services.service import OwnService


class LocalEnvironment(ServingEnvironment):
    """MariaDB or MySQL, Redis with a replica and Sentinels, RabbitMQ and PostgreSQL, started by the lab and removed with it."""

    name = "local"
    capabilities = frozenset(Capability)

    def _make_services(self) -> Sequence[OwnService]:
        return [descriptor(name).server(self._warden, self.directory, self._ports) for name in sorted(self.offers)]

"""The environment `containers`: each service in a Docker container on this machine; processes and links as in every real environment."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from chaos.deadline import Deadline
from chaos.environment import SERVICE_NAMES, ServiceName
from chaos.environments.serving import ServingEnvironment
from chaos.errors import ChaosError, ServiceUnavailable
from chaos.injectors.injector import Capability
from chaos.services.container import ContainerService
from chaos.services.declared.program import ServiceProgram
from chaos.services.docker_engine import DockerEngine, connect
from chaos.services.registry import descriptor

PULL_TIMEOUT_S = 900.0
"""For one image, the first time that it is used on a machine."""

START_TIMEOUT_S = 120.0
"""More than servers alone need: MySQL's image starts its server twice on the first start."""


class ContainersEnvironment(ServingEnvironment):
    """MariaDB or MySQL, one Redis, RabbitMQ and PostgreSQL, each in a container, removed with its data when the environment is left.

    `images`: replace those in the service descriptors. They must work as the official images document: a root password,
    or a first user, in variables, and the server's arguments in the command. A container outlives a lab that is killed by
    kill -9; the next lab removes it.
    """

    name = "containers"
    capabilities = frozenset({Capability.PROCESSES, Capability.OWN_SERVICES, Capability.LINKS})

    def __init__(
        self,
        services: Iterable[ServiceName] = SERVICE_NAMES,
        *,
        declared: Sequence[ServiceProgram] = (),
        images: Mapping[ServiceName, str] | None = None,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        super().__init__(services, declared=declared, start_timeout_s=start_timeout_s)
        self._images = {**{name: descriptor(name).image for name in self._served}, **(images or {})}
        self._engine: DockerEngine | None = None
        self._containers: Sequence[ContainerService] = ()

    def __exit__(self, *exc_info: object) -> None:
        """End every process, remove every file and every container. Idempotent."""
        try:
            super().__exit__(*exc_info)
        finally:
            for container in self._containers:
                with suppress(ChaosError):  # without the daemon it cannot be removed; the next lab does it
                    container.remove()
            if self._engine is not None:
                self._engine.close()

    def _start_services(self) -> None:
        self._engine = connect()
        self._engine.remove_orphans()
        for service in self._served:
            self._fetch(self._engine, service)
        super()._start_services()

    def _fetch(self, engine: DockerEngine, service: ServiceName) -> None:
        image = self._images[service]
        try:
            if not engine.has_image(image):
                engine.pull(image, Deadline.after(PULL_TIMEOUT_S))
        except ChaosError as error:
            raise ServiceUnavailable(service, f"{error}; to use another image, see docs/environments.md") from error

    def _make_services(self) -> Sequence[ContainerService]:
        assert self._engine is not None, "the engine is connected first"
        engine = self._engine
        self._containers = [
            descriptor(name).container(engine, self._images[name], self.directory.name, self._ports)
            for name in self._served
        ]
        return self._containers

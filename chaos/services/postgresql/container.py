"""PostgreSQL in a container, as the official image documents it."""

import secrets
from collections.abc import Mapping
from dataclasses import replace

from chaos.ports import LOOPBACK, PortAllocator
from chaos.services.addresses import PostgresqlAddress, Services
from chaos.services.container import ContainerService
from chaos.services.docker_engine import DockerEngine
from chaos.services.postgresql import client
from chaos.services.postgresql.server import ARGUMENTS, USER


class PostgresqlContainer(ContainerService):
    """The image of PostgreSQL: it creates a superuser of the given name and password, allowed to connect from anywhere."""

    name = "postgresql"
    inner_port = 5432
    command = ("postgres", *ARGUMENTS)

    def __init__(self, engine: DockerEngine, image: str, lab: str, allocator: PortAllocator) -> None:
        super().__init__(engine, image, lab, allocator)
        self._password = secrets.token_hex(12)
        self._namespace = ""

    @property
    def _environment(self) -> Mapping[str, str]:
        return {"POSTGRES_USER": USER, "POSTGRES_PASSWORD": self._password}

    def address(self, database: str) -> PostgresqlAddress:
        """Its address, for a user with all rights."""
        return PostgresqlAddress(LOOPBACK, self.port, USER, self._password, database)

    def missing(self) -> str:
        """The problem, or "" when it answers a SELECT."""
        return client.missing(self.address(""))

    def version(self) -> str:
        """As the server reports it."""
        return client.read_version(self.address(""))

    def provide(self, services: Services) -> Services:
        """The services of a run with its address, and an empty database; that of the run before is dropped."""
        client.replace_database(self.address(""), self._namespace, services.namespace)
        self._namespace = services.namespace
        return replace(services, postgresql=self.address(services.namespace))

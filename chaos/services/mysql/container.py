"""MariaDB or MySQL in a container, as the official images document it."""

import secrets
from collections.abc import Mapping

from chaos.ports import LOOPBACK, PortAllocator
from chaos.services.addresses import MysqlAddress, Services
from chaos.services.container import ContainerService
from chaos.services.docker_engine import DockerEngine
from chaos.services.mysql import server as mysql


class MysqlContainer(ContainerService):
    """MariaDB's or MySQL's image: both create a root user with the given password, allowed to connect from anywhere."""

    name = "mysql"
    inner_port = 3306
    command = mysql.ARGUMENTS

    def __init__(self, engine: DockerEngine, image: str, lab: str, allocator: PortAllocator) -> None:
        super().__init__(engine, image, lab, allocator)
        self._password = secrets.token_hex(12)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {"MYSQL_ROOT_PASSWORD": self._password}

    def address(self, database: str) -> MysqlAddress:
        """Its address, for a user with all rights."""
        return MysqlAddress(LOOPBACK, self.port, "root", self._password, database)

    def missing(self) -> str:
        """The problem, or "" when it answers a SELECT."""
        return mysql.missing(self.address(""))

    def version(self) -> str:
        """From SELECT VERSION()."""
        return mysql.read_version(self.address(""))

    def provide(self, services: Services) -> Services:
        """The services of a run with its address, and an empty database."""
        return mysql.provide_database(self.address(services.namespace), services)

"""MariaDB or MySQL in a container, by what the official images document."""

import secrets
from collections.abc import Mapping

from chaos.ports import LOOPBACK, PortLease
from chaos.services.addresses import MysqlAddress, Services
from chaos.services.container import ContainerService
from chaos.services.docker_engine import DockerEngine
from chaos.services.mysql import server as mysql


class MysqlContainer(ContainerService):
    """MariaDB's or MySQL's image: both make a root user with this password, who may come from anywhere."""

    name = "mysql"
    inner_port = 3306
    command = mysql.ARGUMENTS

    def __init__(self, engine: DockerEngine, image: str, lab: str, leases: PortLease) -> None:
        super().__init__(engine, image, lab, leases)
        self._password = secrets.token_hex(12)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {"MYSQL_ROOT_PASSWORD": self._password}

    def address(self, database: str) -> MysqlAddress:
        """Where it is reached, with a user who may do everything."""
        return MysqlAddress(LOOPBACK, self.port, "root", self._password, database)

    def missing(self) -> str:
        """What a SELECT lacks."""
        return mysql.missing(self.address(""))

    def version(self) -> str:
        """As SELECT VERSION() says."""
        return mysql.read_version(self.address(""))

    def provide(self, services: Services) -> Services:
        """With its address, and an empty database of the run's."""
        return mysql.provide_database(self.address(services.namespace), services)

"""Addresses of services: plain data, given to systems under test. A new service adds its name, its address class, and a field."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import quote

ServiceName = Literal["mysql", "redis", "rabbitmq", "postgresql"]
SERVICE_NAMES: tuple[ServiceName, ...] = get_args(ServiceName)


@dataclass(frozen=True, slots=True)
class MysqlAddress:
    """A MariaDB or MySQL server and the database of this run in it."""

    host: str
    port: int
    user: str
    password: str
    database: str

    @property
    def url(self) -> str:
        """In the form of SQLAlchemy, for PyMySQL."""
        secret = f":{self.password}" if self.password else ""
        return f"mysql+pymysql://{self.user}{secret}@{self.host}:{self.port}/{self.database}"


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """A Redis primary. If `sentinels` (host, port each) is not empty, ask them for the primary instead of using host and port."""

    host: str
    port: int
    sentinels: tuple[tuple[str, int], ...] = ()
    primary_name: str = ""

    @property
    def url(self) -> str:
        """In the form of redis-py: the primary at the start of the run."""
        return f"redis://{self.host}:{self.port}/0"


@dataclass(frozen=True, slots=True)
class RabbitmqAddress:
    """A RabbitMQ server."""

    host: str
    port: int
    user: str
    password: str
    vhost: str = "/"

    @property
    def url(self) -> str:
        """In the form of pika and kombu."""
        vhost = self.vhost.replace("/", "%2F")
        return f"amqp://{self.user}:{self.password}@{self.host}:{self.port}/{vhost}"


@dataclass(frozen=True, slots=True)
class PostgresqlAddress:
    """A PostgreSQL server and the database of this run in it."""

    host: str
    port: int
    user: str
    password: str
    database: str

    @property
    def url(self) -> str:
        """In the form of libpq."""
        user, secret = quote(self.user, safe=""), f":{quote(self.password, safe='')}" if self.password else ""
        return f"postgresql://{user}{secret}@{self.host}:{self.port}/{self.database}"


Address = MysqlAddress | RedisAddress | RabbitmqAddress | PostgresqlAddress


@dataclass(frozen=True, slots=True)
class Services:
    """The addresses of the services of one run; None: the environment does not offer the service.

    `namespace` is unique to the run: the name of its databases, and the prefix for queues and Redis keys.
    `directory` is the run's scratch directory (SQLite files and the like), removed with the environment. `http_port` is a free
    loopback port for the system's own API, if it has one.
    `links` holds, per process name, the addresses that this process alone uses, so that a fault can be aimed at it.
    """

    namespace: str
    directory: Path
    http_port: int
    mysql: MysqlAddress | None = None
    redis: RedisAddress | None = None
    rabbitmq: RabbitmqAddress | None = None
    postgresql: PostgresqlAddress | None = None
    links: Mapping[str, "Services"] = field(default_factory=dict)

    def as_seen_by(self, process: str) -> "Services":
        """The addresses for one process: its links, or the common addresses if it has none."""
        return self.links.get(process, replace(self, links={}))

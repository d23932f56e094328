"""Addresses of services: plain data, given to systems under test. A new service adds its name, its address class, and two fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args
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
ADDRESSES: Mapping[ServiceName, type[Address]] = MappingProxyType(
    {"mysql": MysqlAddress, "redis": RedisAddress, "rabbitmq": RabbitmqAddress, "postgresql": PostgresqlAddress}
)


@dataclass(frozen=True, slots=True)
class DeclaredAddress:
    """A service of the user's own: its main port, which links lead to, and its further ports by name."""

    host: str
    port: int
    ports: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Services:
    """The addresses of the services of one run; None: the environment does not offer the service.

    `namespace` is unique to the run: the name of its databases, and the prefix for queues and Redis keys.
    `directory` is the run's scratch directory (SQLite files and the like), removed with the environment. `http_port` is a free
    loopback port for the system's own API, if it has one.
    `own` holds the addresses of services of the user's own, by name.
    `links` holds, per process name, the addresses that this process alone uses, so that a fault can be aimed at it.
    """

    namespace: str
    directory: Path
    http_port: int
    mysql: MysqlAddress | None = None
    redis: RedisAddress | None = None
    rabbitmq: RabbitmqAddress | None = None
    postgresql: PostgresqlAddress | None = None
    own: Mapping[str, DeclaredAddress] = field(default_factory=dict)
    links: Mapping[str, "Services"] = field(default_factory=dict)

    def as_seen_by(self, process: str) -> "Services":
        """The addresses for one process: its links, or the common addresses if it has none."""
        return self.links.get(process, replace(self, links={}))

    def address_of(self, service: str) -> Any:
        """The address of a service of the lab or of the user's own; None: there is none."""
        return self.own.get(service) or getattr(self, service, None)


def services_fields(services: Services) -> dict[str, Any]:
    """The addresses as plain data, with their URLs: `services` of docs/protocol.md."""
    return {
        "namespace": services.namespace,
        "directory": str(services.directory),
        "http_port": services.http_port,
        **{name: _address_fields(getattr(services, name)) for name in SERVICE_NAMES},
        "own": {
            name: {"host": one.host, "port": one.port, "ports": dict(one.ports)} for name, one in services.own.items()
        },
        "links": {process: services_fields(linked) for process, linked in services.links.items()},
    }


def _address_fields(address: Address | None) -> dict[str, Any] | None:
    if address is None:
        return None
    return {**{field.name: getattr(address, field.name) for field in fields(address)}, "url": address.url}

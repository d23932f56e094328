"""What a world offers: services with addresses, processes in it, and faults. The Protocols; the worlds are in environments/."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from chaos.faults import Fault
from chaos.injection import Injection

ServiceName = Literal["mysql", "redis", "rabbitmq"]
SERVICE_NAMES: tuple[ServiceName, ...] = ("mysql", "redis", "rabbitmq")


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
        """As SQLAlchemy spells it, for PyMySQL."""
        secret = f":{self.password}" if self.password else ""
        return f"mysql+pymysql://{self.user}{secret}@{self.host}:{self.port}/{self.database}"


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """A Redis primary; where Sentinels watch it (host, port each), ask them for the primary instead of trusting host and port."""

    host: str
    port: int
    sentinels: tuple[tuple[str, int], ...] = ()
    primary_name: str = ""

    @property
    def url(self) -> str:
        """As redis-py spells it: the primary at the start of the run."""
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
        """As pika and kombu spell it."""
        vhost = self.vhost.replace("/", "%2F")
        return f"amqp://{self.user}:{self.password}@{self.host}:{self.port}/{vhost}"


@dataclass(frozen=True, slots=True)
class Services:
    """The addresses through which a system reaches its world. A service the environment does not offer is None.

    `namespace` is unique to the run: the name of its MySQL database, and the prefix for queues and Redis keys.
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
    links: Mapping[str, "Services"] = field(default_factory=dict)

    def as_seen_by(self, process: str) -> "Services":
        """The same world through the links of one process; without links of its own, the common addresses."""
        return self.links.get(process, replace(self, links={}))


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One operating-system process of a system under test.

    `role` says what it does (`api`, `relay`, `worker`, `rescuer`, ...; faults are aimed at roles), `also` what else it
    does: in a system without an outbox the API is the relay too. `argv[0]` is an absolute path or found on PATH. `env` is
    added to the lab's own environment. `runs_once`: a preparation (a migration) that must exit 0 before the others start.
    `stop_signal` asks it to end gracefully.
    """

    name: str
    role: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    runs_once: bool = False
    stop_signal: str = "SIGTERM"
    also: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """All that it does."""
        return (self.role, *self.also)


@runtime_checkable
class Process(Protocol):
    """A running process of the system under test, as the environment holds it."""

    @property
    def spec(self) -> ProcessSpec:
        """What it was started from."""

    @property
    def pid(self) -> int:
        """Of its present incarnation."""

    @property
    def log(self) -> Path:
        """Where its standard output and error go; a restart appends."""

    def is_alive(self) -> bool:
        """Whether it runs (a stopped one is alive, a zombie is not)."""

    def exit_code(self) -> int | None:
        """How its last incarnation ended (negative: the signal), or None while it runs."""


class Environment(Protocol):
    """A world: services, processes, faults. Used as a context manager; leaving it removes everything it made."""

    name: str
    offers: frozenset[ServiceName]

    def __enter__(self) -> "Environment":
        """Start the services that were asked for, in parallel."""

    def __exit__(self, *exc_info: object) -> None:
        """End every process, remove every file. Idempotent."""

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered a full round trip."""

    def versions(self) -> Mapping[str, str]:
        """Version of each service, as it says itself."""

    def provision(self, namespace: str, *, linked: Sequence[str] = ()) -> Services:
        """A fresh namespace for one run: an empty database, no keys, no queues of that prefix.

        `linked`: names of the processes that get links of their own (a proxy between them and each service).
        """

    def start_process(self, spec: ProcessSpec, *, log_directory: Path) -> Process:
        """Start a process of the system under test; it dies with the lab, whatever kills the lab.

        Raises:
            ProcessFailed: it could not be started, or `runs_once` and it did not exit 0.
        """

    def restart_process(self, process: Process) -> None:
        """Start it again from its spec after it ended; the log is appended to."""

    def stop_process(self, process: Process, *, timeout_s: float) -> int | None:
        """Its stop signal, then after `timeout_s` SIGKILL to it and all its descendants; its exit code."""

    def injection(self, fault: Fault, services: Services, processes: Mapping[str, Process]) -> Injection:
        """The fault, ready to begin, against the run that has these services and processes.

        Raises:
            ChaosError: this environment cannot do that fault.
        """

    def check_health(self, timeout_s: float) -> None:
        """A full round trip through every service.

        Raises:
            ServiceUnavailable: one does not answer.
        """

"""The external world: services that somebody else runs, given by URL. Never killed, never restarted; faults of their links are done."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from types import MappingProxyType
from urllib.parse import SplitResult, unquote, urlsplit

import redis as redis_driver

from chaos.deadline import Deadline, wait
from chaos.environment import MysqlAddress, RabbitmqAddress, RedisAddress, ServiceName, Services
from chaos.environments.hosted import HostedEnvironment
from chaos.errors import ChaosError, ServiceUnavailable
from chaos.services.mysql import server as mysql
from chaos.services.rabbitmq import server as rabbitmq
from chaos.services.redis import server as redis

START_TIMEOUT_S = 20.0
KEYS_A_STEP = 1_000


class ExternalEnvironment(HostedEnvironment):
    """Services by URL, one or more of `mysql://user:password@host:port`, `redis://host:port`, `amqp://user:password@host:port/vhost`.

    Of a run's namespace its database and its Redis keys are emptied before the run and removed with the environment. Queues
    cannot be listed without RabbitMQ's management plugin: those that a run declares stay.
    """

    name = "external"

    def __init__(
        self,
        *,
        mysql_url: str | None = None,
        redis_url: str | None = None,
        rabbitmq_url: str | None = None,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        super().__init__()
        self._mysql = _mysql_address(mysql_url) if mysql_url else None
        self._redis = _redis_address(redis_url) if redis_url else None
        self._rabbitmq = _rabbitmq_address(rabbitmq_url) if rabbitmq_url else None
        self._start_timeout_s = start_timeout_s
        self._startup_s: dict[str, float] = {}
        self._used: dict[str, None] = {}
        self._round_trips = self._make_round_trips()
        self.offers = frozenset(self._round_trips)

    def __exit__(self, *exc_info: object) -> None:
        """Drop the databases and keys of all runs, end every process, remove every file. Idempotent."""
        namespaces = list(self._used)
        self._used.clear()
        # A service that is gone by now keeps what it has; its owner sees that, and an error here would hide the run's own.
        with suppress(ServiceUnavailable, redis_driver.RedisError):
            for namespace in namespaces:
                self._empty(namespace)
        super().__exit__(*exc_info)

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered a full round trip."""
        return MappingProxyType(self._startup_s)

    def versions(self) -> Mapping[str, str]:
        """Version of each service, as it says itself."""
        found: dict[str, str] = {}
        if self._mysql:
            found["mysql"] = mysql.read_version(self._mysql)
        if self._redis:
            found["redis"] = redis.read_version(self._redis.host, self._redis.port)
        if self._rabbitmq:
            found["rabbitmq"] = rabbitmq.read_version(self._rabbitmq)
        return {**found, **super().versions()}

    def check_health(self, timeout_s: float) -> None:
        """See `Environment.check_health`. One deadline for all services."""
        super().check_health(timeout_s)
        deadline = Deadline.after(timeout_s)
        for service in self._round_trips:
            self._await(service, deadline)

    def _start_services(self) -> None:
        deadline = Deadline.after(self._start_timeout_s)
        for service in self._round_trips:
            began_s = time.monotonic()
            self._await(service, deadline)
            self._startup_s[service] = round(time.monotonic() - began_s, 3)

    def _await(self, service: ServiceName, deadline: Deadline) -> None:
        if problem := wait(self._round_trips[service], deadline):
            raise ServiceUnavailable(service, f"no full round trip within {deadline.timeout_s:g} s: {problem}")

    def _make_round_trips(self) -> dict[ServiceName, Callable[[], str]]:
        trips: dict[ServiceName, Callable[[], str]] = {}
        if at := self._mysql:
            trips["mysql"] = lambda: mysql.missing(at)
        if where := self._redis:
            trips["redis"] = lambda: redis.missing_write(where.host, where.port)
        if broker := self._rabbitmq:
            trips["rabbitmq"] = lambda: rabbitmq.missing(broker)
        return trips

    def _fill(self, services: Services) -> Services:
        self._used[services.namespace] = None
        self._empty(services.namespace)
        address = replace(self._mysql, database=services.namespace) if self._mysql else None
        if address:
            mysql.create_database(address)
        return replace(services, mysql=address, redis=self._redis, rabbitmq=self._rabbitmq)

    def _empty(self, namespace: str) -> None:
        if self._mysql:
            mysql.drop_database(replace(self._mysql, database=namespace))
        if self._redis:
            with closing(redis.client(self._redis.host, self._redis.port)) as client:
                for key in client.scan_iter(match=f"{namespace}*", count=KEYS_A_STEP):
                    client.delete(key)


def _mysql_address(url: str) -> MysqlAddress:
    parts = _split(url, ("mysql", "mysql+pymysql"))
    return MysqlAddress(
        str(parts.hostname), parts.port or 3306, unquote(parts.username or "root"), unquote(parts.password or ""), ""
    )


def _redis_address(url: str) -> RedisAddress:
    parts = _split(url, ("redis",))
    if parts.password or parts.path not in ("", "/", "/0"):
        raise ChaosError(
            "a redis URL must have neither a password nor a database other than 0: systems are given host and port only"
        )
    return RedisAddress(str(parts.hostname), parts.port or 6379)


def _rabbitmq_address(url: str) -> RabbitmqAddress:
    parts = _split(url, ("amqp",))
    vhost = unquote(parts.path.removeprefix("/")) or "/"
    user, password = unquote(parts.username or "guest"), unquote(parts.password or "guest")
    return RabbitmqAddress(str(parts.hostname), parts.port or 5672, user, password, vhost)


def _split(url: str, schemes: tuple[str, ...]) -> SplitResult:
    """The parts of a URL; its text is not in the error, for it holds a password."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError as error:
        raise ChaosError(f"the port of a {schemes[0]} URL is no number") from error
    if parts.scheme not in schemes or not parts.hostname or port == 0:
        raise ChaosError(f"not a URL of the form {schemes[0]}://[user:password@]host[:port]")
    return parts

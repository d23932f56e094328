"""The reference task system as a system under test: its processes, client, task listing and audit trail."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection

import reference_impl
from chaos.environment import ProcessSpec, ServiceName, Services
from reference_impl.bootstrap import open_database
from reference_impl.settings import Settings, environment_of
from scenarios.contract.system import Account, Client, Handlers, Pace
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import Policy
from scenarios.record.history import Event
from scenarios.systems.http_client import HttpClient
from scenarios.systems.reference.access import token_of, users_file_of
from scenarios.systems.reference.rows import account_of, trail_of
from scenarios.systems.reference.terms import (
    CAPABILITIES,
    CLAIMS,
    LAB,
    RESERVATIONS,
    pace_of,
    policy_of,
    replace_settings,
)

if TYPE_CHECKING:
    from scenarios.systems.reference.simulated import ReferenceSimulation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reference:
    """The task system that comes with the lab: facts in MySQL, fast state in Redis, delivery by RabbitMQ.

    `settings` apply to every process; addresses and names are added per process.
    """

    name: str = "reference"
    settings: Settings = LAB
    workers: int = 2
    needs: frozenset[ServiceName] = frozenset({"mysql", "redis", "rabbitmq"})
    claims: frozenset[Guarantee] = CLAIMS
    capabilities: frozenset[str] = CAPABILITIES

    @property
    def reservations(self) -> Mapping[str, frozenset[Guarantee]]:
        """The guarantees not made under certain faults."""
        return RESERVATIONS

    @property
    def policy(self) -> Policy:
        """The limits that follow from the settings."""
        return policy_of(self.settings)

    @property
    def pace(self) -> Pace:
        """The pace that follows from the settings."""
        return pace_of(self.settings)

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """Migration, API, relay, workers, and two rescuers, of which one leads."""
        roles = [("api", "api"), ("relay", "relay")]
        roles += [(f"worker-{number}", "worker") for number in range(1, self.workers + 1)]
        roles += [("rescuer-1", "rescuer"), ("rescuer-2", "rescuer")]
        migration = self._process("migration", "migrate", services, handlers, runs_once=True)
        return [migration, *(self._process(name, role, services, handlers) for name, role in roles)]

    def embedded_processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """All roles in one process, on a SQLite file."""
        settings = replace_settings(
            self.settings,
            name="embedded",
            database_url=_database_url(services),
            http_port=services.http_port,
            users_file=str(users_file_of(services)),
        )
        environment = {**handlers.environment_of("embedded"), **environment_of(settings)}
        return [
            ProcessSpec(
                "embedded", "embedded", _argv("embedded"), environment, also=("api", "relay", "worker", "rescuer")
            )
        ]

    def client(self, services: Services) -> Client:
        """An operator at the HTTP API, who submits in the names of the workload's users."""
        return HttpClient(self.api_url(services), token_of(services))

    def api_url(self, services: Services) -> str:
        """Address of the API, for load tests."""
        return f"http://127.0.0.1:{services.http_port}"

    def account(self, services: Services) -> Account:
        """The tasks by state, from their rows."""
        return _read(services, account_of)

    def trail(self, services: Services) -> Sequence[Event]:
        """The audit rows and the dead letters."""
        return _read(services, trail_of)

    def simulation(self) -> "ReferenceSimulation":
        """The same processes on simulated ports."""
        from scenarios.systems.reference.simulated import ReferenceSimulation  # slow

        return ReferenceSimulation()

    def _process(
        self, name: str, role: str, services: Services, handlers: Handlers, *, runs_once: bool = False
    ) -> ProcessSpec:
        world = services.as_seen_by(name)
        assert world.mysql is not None, "the environment offers what the system needs"
        assert world.redis is not None, "the environment offers what the system needs"
        assert world.rabbitmq is not None, "the environment offers what the system needs"
        settings = replace_settings(
            self.settings,
            name=name,
            database_url=world.mysql.url,
            broker_url=world.rabbitmq.url,
            cache_url=world.redis.url,
            sentinels=",".join(f"{host}:{port}" for host, port in world.redis.sentinels),
            sentinel_primary=world.redis.primary_name,
            prefix=f"{services.namespace}.",
            http_port=services.http_port,
            users_file=str(users_file_of(services)) if role == "api" else "",
        )
        environment = {**handlers.environment_of(name), **environment_of(settings)}
        return ProcessSpec(name, role, _argv(role), environment, runs_once=runs_once)


def _argv(role: str) -> list[str]:
    # -P: modules in the current directory are not imported.
    return [sys.executable, "-P", "-m", reference_impl.__name__, role]


def _database_url(services: Services) -> str:
    return services.mysql.url if services.mysql else f"sqlite:///{services.directory / 'reference.db'}"


def _read(services: Services, query: Callable[[Connection], T]) -> T:
    """Read through a separate engine, independent of the connection pools of the system under test."""
    engine = open_database(Settings(database_url=_database_url(services), pool_size=1))
    try:
        with engine.connect() as connection:
            return query(connection)
    finally:
        engine.dispose()


system = Reference()

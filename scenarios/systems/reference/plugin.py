"""The reference task system as a system under test: it claims what it is built to keep, eighteen promises so far."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

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
from scenarios.systems.reference.rows import account_of, trail_of

if TYPE_CHECKING:
    from scenarios.systems.reference.simulated import ReferenceSimulation

T = TypeVar("T")

INSIDE = f"{__package__}.inside"

BUDGET_S = 20.0

# Small enough for a scenario of seconds, each with a margin over what it guards (reference_impl.settings says which).
LAB = Settings(
    handlers=f"{INSIDE}:handle",
    leader_jobs=f"{INSIDE}:leader_jobs",
    observer=f"{INSIDE}:watcher",
    worker_slots=2,
    lease_s=2.0,
    heartbeat_s=0.4,
    attempts_max=4,
    delay_min_s=0.2,
    delay_max_s=2.0,
    relay_idle_s=0.02,
    relay_claim_s=3.0,
    confirm_timeout_s=2.0,
    sweep_s=0.25,
    lock_ttl_s=1.5,
    undelivered_after_s=5.0,
    io_timeout_s=2.0,
    new_tasks_per_minute=1000,
    drain_s=3.0,
)


CLAIMS = frozenset(
    {
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.NO_PHANTOM_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.EFFECT_AT_MOST_ONCE,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.LEGAL_TRANSITIONS,
        Guarantee.DEAD_LETTER_IF_EXHAUSTED,
        Guarantee.POISON_BOUNDED,
        Guarantee.SINGLE_HOLDER,
        Guarantee.FENCED_WRITES,
        Guarantee.PROGRESS_MONOTONIC,
        Guarantee.STATUS_TRUTHFUL,
        Guarantee.OUTBOX_ATOMIC,
        Guarantee.IDEMPOTENT_SUBMISSION,
        Guarantee.CANCEL_HONOURED,
        Guarantee.DEADLINE_HONOURED,
        Guarantee.RECOVERS_IN_TIME,
    }
)
"""Not claimed: retry_schedule (a broker that is down delays a retry beyond any stated tolerance), and what is not built yet."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The task system that comes with the lab: facts in MySQL, fast state in Redis, delivery by RabbitMQ.

    `settings` are those of every process, but for its addresses and its name.
    """

    name: str = "reference"
    settings: Settings = LAB
    workers: int = 2
    needs: frozenset[ServiceName] = frozenset({"mysql", "redis", "rabbitmq"})
    claims: frozenset[Guarantee] = CLAIMS

    @property
    def reservations(self) -> Mapping[str, frozenset[Guarantee]]:
        """A lock in a Redis that forgets it has two holders (reference_impl.fast.lock): what protects the data then is the fence."""
        return {"redis_failed_over": frozenset({Guarantee.SINGLE_HOLDER})}

    @property
    def policy(self) -> Policy:
        """What the settings promise."""
        retry = self.settings.retry_policy
        return Policy(
            attempts_max=retry.attempts_max,
            delays_s=tuple(retry.bounds_s(attempt) for attempt in range(1, retry.attempts_max)),
            tolerance_s=1.0,
            budget_s=BUDGET_S,
        )

    @property
    def pace(self) -> Pace:
        """The longest rest: a lease runs out, then its message is not delivered; after that, and a few sweeps, nothing is left to come."""
        net_s = self.settings.undelivered_after_s
        longest_s = (
            self.settings.lease_s + (net_s if net_s <= BUDGET_S else 0.0) + 2.0
        )  # later than its budget is never
        return Pace(quiet_s=longest_s, lease_s=self.settings.lease_s, lock_s=self.settings.lock_ttl_s)

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """Migration, API, relay, workers, and two rescuers of which one leads."""
        roles = [("api", "api"), ("relay", "relay")]
        roles += [(f"worker-{number}", "worker") for number in range(1, self.workers + 1)]
        roles += [("rescuer-1", "rescuer"), ("rescuer-2", "rescuer")]
        migration = self._process("migration", "migrate", services, handlers, runs_once=True)
        return [migration, *(self._process(name, role, services, handlers) for name, role in roles)]

    def embedded_processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """Everything in one process, on a SQLite file."""
        settings = replace_settings(
            self.settings,
            name="embedded",
            database_url=_database_url(services),
            http_port=services.http_port,
        )
        environment = {**handlers.environment_of("embedded"), **environment_of(settings)}
        return [
            ProcessSpec(
                "embedded", "embedded", _argv("embedded"), environment, also=("api", "relay", "worker", "rescuer")
            )
        ]

    def client(self, services: Services) -> Client:
        """A user of the HTTP API."""
        return HttpClient(self.api_url(services))

    def api_url(self, services: Services) -> str:
        """Where load tests submit."""
        return f"http://127.0.0.1:{services.http_port}"

    def account(self, services: Services) -> Account:
        """The task rows, by state."""
        return _read(services, account_of)

    def trail(self, services: Services) -> Sequence[Event]:
        """The audit table, and the dead letters."""
        return _read(services, trail_of)

    def simulation(self) -> "ReferenceSimulation":
        """The same processes on simulated seams."""
        from scenarios.systems.reference.simulated import ReferenceSimulation

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
        )
        environment = {**handlers.environment_of(name), **environment_of(settings)}
        return ProcessSpec(name, role, _argv(role), environment, runs_once=runs_once)


def _argv(role: str) -> list[str]:
    # -P: whatever lies in the directory in which the lab was started is not imported.
    return [sys.executable, "-P", "-m", reference_impl.__name__, role]


def replace_settings(settings: Settings, **changes: Any) -> Settings:
    """The settings with some of them changed."""
    return Settings(**{**{name: getattr(settings, name) for name in settings.__struct_fields__}, **changes})


def _database_url(services: Services) -> str:
    return services.mysql.url if services.mysql else f"sqlite:///{services.directory / 'reference.db'}"


def _read(services: Services, look: Callable[[Connection], T]) -> T:
    """Through an engine of the lab's own, so that no pool of the system under test is touched."""
    engine = open_database(Settings(database_url=_database_url(services), pool_size=1))
    try:
        with engine.connect() as connection:
            return look(connection)
    finally:
        engine.dispose()


system = Reference()

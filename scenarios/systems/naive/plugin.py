"""The naive system as a system under test. It claims what the documents promise; runs show which promises their code keeps."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pymysql

from chaos.environment import ProcessSpec, ServiceName, Services
from scenarios.contract.system import Account, Client, Handlers, Pace
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import Policy
from scenarios.record.history import Event
from scenarios.systems.http_client import HttpClient

US_TO_NS = 1000
LISTS = {"SUCCEEDED": "done", "FAILED": "dead"}


@dataclass(frozen=True, slots=True)
class Naive:
    """The example code of design documents, taken literally: no outbox, no lease, no retry."""

    name: str = "naive"
    needs: frozenset[ServiceName] = frozenset({"mysql", "redis", "rabbitmq"})
    claims: frozenset[Guarantee] = field(
        default=frozenset(
            {
                Guarantee.NO_LOST_TASK,
                Guarantee.NO_STUCK_TASK,
                Guarantee.NO_PHANTOM_TASK,
                Guarantee.EXACTLY_ONE_EFFECT,
                Guarantee.EFFECT_AT_MOST_ONCE,
                Guarantee.DUPLICATES_EXPLAINED,
                Guarantee.DEAD_LETTER_IF_EXHAUSTED,
                Guarantee.STATUS_TRUTHFUL,
                Guarantee.RECOVERS_IN_TIME,
            }
        )
    )
    capabilities: frozenset[str] = frozenset({"submit", "status", "sentinels"})
    policy: Policy = field(default_factory=lambda: Policy(attempts_max=4, budget_s=20.0))
    # No safety net: a task that makes no progress soon after healing never will.
    pace: Pace = field(default_factory=lambda: Pace(quiet_s=5.0))

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """Schema, API (which publishes, so it has the role of the relay too), two workers."""
        return [
            self._process("schema", "schema", services, handlers, runs_once=True),
            self._process("api", "api", services, handlers, also=("relay",)),
            self._process("worker-1", "worker", services, handlers),
            self._process("worker-2", "worker", services, handlers),
        ]

    def client(self, services: Services) -> Client:
        """A user of the HTTP API."""
        return HttpClient(self.api_url(services))

    def api_url(self, services: Services) -> str:
        """Address of the API, for load tests."""
        return f"http://127.0.0.1:{services.http_port}"

    def account(self, services: Services) -> Account:
        """The tasks by state, from their rows."""
        lists: dict[str, list[str]] = {"done": [], "dead": [], "pending": []}
        for payload, status in _rows(services, "SELECT payload, status FROM tasks"):
            lists[LISTS.get(status, "pending")].append(_task(payload))
        return Account(
            done=tuple(sorted(lists["done"])),
            dead=tuple(sorted(lists["dead"])),
            cancelled=(),
            expired=(),
            pending=tuple(sorted(lists["pending"])),
        )

    def trail(self, services: Services) -> Sequence[Event]:
        """There is no audit trail. A FAILED row, final after one attempt, counts as this design's dead letter."""
        rows = _rows(
            services,
            "SELECT payload, error, CAST(UNIX_TIMESTAMP(updated) * 1000000 AS SIGNED)"
            " FROM tasks WHERE status = 'FAILED'",
        )
        return [
            Event(
                event="dead",
                actor="database",
                t_ns=updated_us * US_TO_NS,
                task=_task(payload),
                attempts=1,
                reason="permanent" if error.startswith("permanent") else "exhausted",
            )
            for payload, error, updated_us in rows
        ]

    def _process(
        self,
        name: str,
        role: str,
        services: Services,
        handlers: Handlers,
        *,
        runs_once: bool = False,
        also: tuple[str, ...] = (),
    ) -> ProcessSpec:
        world = services.as_seen_by(name)
        assert world.redis is not None, "the environment offers what the system needs"
        assert world.rabbitmq is not None, "the environment offers what the system needs"
        environment = {
            **handlers.environment_of(name),
            "NAIVE_MYSQL": json.dumps(_mysql(world)),
            "NAIVE_REDIS": world.redis.url,
            "NAIVE_SENTINELS": json.dumps(world.redis.sentinels),
            "NAIVE_PRIMARY": world.redis.primary_name,
            "NAIVE_RABBITMQ": world.rabbitmq.url,
            "NAIVE_QUEUE": f"{services.namespace}.tasks",
            "NAIVE_PORT": str(services.http_port),
        }
        # -P: modules in the current directory are not imported.
        argv = [sys.executable, "-P", "-m", f"{__package__}.program", role]
        return ProcessSpec(name, role, argv, environment, runs_once=runs_once, also=also)


def _mysql(services: Services) -> dict[str, Any]:
    """The arguments of PyMySQL's connect()."""
    assert services.mysql is not None, "the environment offers what the system needs"
    address = services.mysql
    return {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "password": address.password,
        "database": address.database,
    }


def _rows(services: Services, statement: str) -> Sequence[Any]:
    connection = pymysql.connect(
        **_mysql(services), connect_timeout=5, read_timeout=5, init_command="SET time_zone = '+00:00'"
    )
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            rows: Sequence[Any] = cursor.fetchall()
            return rows
    finally:
        connection.close()


def _task(payload: str) -> str:
    return str(json.loads(payload)["task"])


system = Naive()

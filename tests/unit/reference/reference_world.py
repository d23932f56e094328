"""Shared by the tests of the reference: a manual clock, sequential names, a SQLite database, and a world whose methods are single steps."""

import sqlite3
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.pool import StaticPool

from reference_impl.adapters.memory import MemoryBroker, MemoryCache
from reference_impl.adapters.sqlite import sqlite_engine
from reference_impl.components import topology
from reference_impl.extensions import Observer
from reference_impl.fast import lock
from reference_impl.fast.lock import HeldLock
from reference_impl.loops.claiming import claim_task
from reference_impl.loops.heartbeat import HeldClaims
from reference_impl.loops.relay import OutboxRelay
from reference_impl.loops.rescuer import LOCK, Rescuer, RescuerOptions
from reference_impl.loops.worker import Worker, WorkerOptions
from reference_impl.metrics import Metrics
from reference_impl.retry import Failure
from reference_impl.rows import outbox, schema, settlement, store
from reference_impl.rows.settlement import Settled
from reference_impl.rows.submission import Submission, submit
from reference_impl.rows.transactions import read, transact
from reference_impl.rows.transitions import audit_trail
from reference_impl.runtime import Runtime
from reference_impl.settings import Settings
from reference_impl.task import Claim, Task

SETTINGS = Settings(
    lease_s=10.0,
    heartbeat_s=3.0,
    attempts_max=3,
    delay_min_s=2.0,
    sweep_s=1.0,
    lock_ttl_s=5.0,
    undelivered_after_s=60.0,
    io_timeout_s=5.0,
)
AWAY_S = SETTINGS.lease_s + 1
"""Longer than a lease lasts."""
BEGAN_US = 1_800_000_000_000_000
TRANSIENT = Failure("transient", "Busy", "busy")
PERMANENT = Failure("permanent", "Wrong", "wrong")
UNKNOWN = Failure("unknown", "Odd", "")


class Time:
    """One clock for the database and all processes. Each reading of the database's clock takes a microsecond."""

    def __init__(self) -> None:
        self.now_us = BEGAN_US

    def tick_us(self) -> int:
        self.now_us += 1
        return self.now_us

    def monotonic_s(self) -> float:
        return self.now_us / 1e6

    def sleep(self, seconds: float) -> None:
        self.pass_(seconds)

    def pass_(self, seconds: float) -> None:
        self.now_us += round(seconds * 1e6)


class Names:
    """Deterministic entropy: the middle of every range, sequential names."""

    def __init__(self) -> None:
        self._count = 0

    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2

    def identifier(self) -> str:
        self._count += 1
        return f"id-{self._count:06d}"


class StopsAfter:
    """Requests shutdown after `rests` waits, each of which advances the clock."""

    def __init__(self, time: Time, rests: int) -> None:
        self._time = time
        self._rests = rests

    @property
    def requested(self) -> bool:
        return self._rests <= 0

    def wait(self, timeout_s: float) -> bool:
        self._time.pass_(timeout_s)
        self._rests -= 1
        return self.requested


@cache
def empty_database() -> bytes:
    """The file of a database with all tables; creating them in each test would take most of its time."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "empty.db"
        engine = sqlite_engine(f"sqlite:///{path}", io_timeout_s=5.0)
        schema.metadata.create_all(engine)
        engine.dispose()  # the last to close writes the log back into the file
        return path.read_bytes()


class World:
    """The reference on SQLite, without threads: each method is one thing that a client or a process does.

    On a file in `directory`, or in memory without one. `observe` makes the observer of a process from its name.
    """

    def __init__(
        self,
        directory: Path | None,
        *,
        settings: Settings = SETTINGS,
        observe: Callable[[str], Observer] = lambda _: Observer(),
    ) -> None:
        self.settings = settings
        self.time = Time()
        self.names = Names()
        self._observe = observe
        self.url = "sqlite://" if directory is None else f"sqlite:///{directory / 'reference.db'}"
        if directory is None:
            self.engine = self.open_engine(poolclass=StaticPool)
            schema.metadata.create_all(self.engine)
        else:
            (directory / "reference.db").write_bytes(empty_database())
            self.engine = self.open_engine()
        self.broker = MemoryBroker()
        self.broker.declare(topology(settings))
        self.cache = MemoryCache(monotonic_s=self.time.monotonic_s)
        self.metrics = Metrics()
        self.held = HeldClaims()

    def open_engine(self, **options: Any) -> Engine:
        """Another process's way to the same database."""
        return sqlite_engine(self.url, io_timeout_s=5.0, clock_us=self.time.tick_us, **options)

    def close(self) -> None:
        self.engine.dispose()

    def runtime(self, name: str, *, rests: int = 10**9) -> Runtime:
        return Runtime(name, self.time, self.names, StopsAfter(self.time, rests), self._observe(name))

    def submit(self, payload: Mapping[str, object] | None = None, *, key: str | None = None, **fields: Any) -> Task:
        given = {"user_id": "u", "type": "probe", "payload": payload or {}, "key": key or self.names.identifier()}
        return submit(
            self.engine,
            self.names,
            Submission(**{**given, **fields}),
            actor="api",
            work_queue=self.settings.work_queue,
            payload_bytes_max=self.settings.payload_bytes_max,
        ).task

    def claim(self, task: Task, worker: str = "worker-1") -> Claim:
        claim = self.try_to_claim(task, worker)
        assert claim is not None, "the task is there to be claimed"
        return claim

    def try_to_claim(self, task: Task, worker: str = "worker-1") -> Claim | None:
        return claim_task(self.runtime(worker), self.engine, task.id, lease_s=self.settings.lease_s)

    def succeed(self, claim: Claim, result: Mapping[str, object] | None = None) -> Settled:
        return transact(self.engine, lambda connection: settlement.settle_success(connection, claim, result))

    def fail(self, claim: Claim, failure: Failure = TRANSIENT, *, delay_s: float = 2.0) -> Settled:
        return transact(
            self.engine,
            lambda connection: settlement.settle_failure(
                connection,
                claim,
                failure,
                attempts_max=self.settings.attempts_max,
                delay_s=delay_s,
                work_queue=self.settings.work_queue,
                dead_queue=self.settings.dead_queue,
            ),
        )

    def kill(self, task: Task) -> Task:
        """A task that fails until it is dead."""
        for _ in range(self.settings.attempts_max):
            self.fail(self.claim(task), delay_s=0.0)
            self.time.pass_(0.001)
        return self.find(task)

    def worker(self, handler: Any, *, name: str = "worker-1", rests: int = 10**9, **options: Any) -> Worker:
        given = WorkerOptions(1, self.settings.lease_s, self.settings.retry_policy, 1000, 60.0, receive_s=0.0)
        return Worker(
            self.runtime(name, rests=rests),
            self.engine,
            self.broker,
            self.cache,
            lambda _: handler,
            self.held,
            self.metrics,
            topology(self.settings),
            replace(given, **options),
        )

    def relay(
        self, name: str = "relay-1", *, broker: Any = None, rests: int = 10**9, rows_max: int = 10
    ) -> OutboxRelay:
        return OutboxRelay(
            self.runtime(name, rests=rests),
            self.engine,
            broker or self.broker,
            self.metrics,
            topology(self.settings),
            rows_max=rows_max,
            claim_s=30.0,
            confirm_timeout_s=1.0,
            idle_s=0.1,
        )

    def rescuer(
        self, name: str = "rescuer-1", *, cache: Any = None, jobs: Sequence[Any] = (), rests: int = 1
    ) -> Rescuer:
        options = RescuerOptions(
            self.settings.sweep_s,
            self.settings.sweep_batch,
            self.settings.lock_ttl_s,
            self.settings.attempts_max,
            self.settings.undelivered_after_s,
            self.settings.outbox_kept_s,
        )
        runtime = self.runtime(name, rests=rests)
        return Rescuer(runtime, self.engine, cache or self.cache, jobs, self.metrics, topology(self.settings), options)

    def lead(self, name: str = "rescuer-1") -> HeldLock:
        held = lock.acquire(self.runtime(name), self.engine, self.cache, LOCK, ttl_s=self.settings.lock_ttl_s)
        assert held is not None, "nobody else leads"
        return held

    def sweep(self, name: str = "rescuer-1") -> None:
        """A rescuer leads for one sweep."""
        held = self.lead(name)
        assert self.rescuer(name).sweep(held), "nobody else leads"
        lock.release(self.runtime(name), self.cache, held)

    def find(self, task: Task) -> Task:
        """The task as it is now."""
        found = read(self.engine, lambda connection: store.find(connection, task.id))
        assert found is not None
        return found

    def trail(self, task: Task) -> list[str]:
        """The states that the task has been in."""
        rows = read(self.engine, lambda connection: audit_trail(connection, task.id))
        assert [row["from_status"] for row in rows] == [None, *[row["to_status"] for row in rows[:-1]]]
        return [row["to_status"] for row in rows]

    def outbox(self, **where: object) -> list[Any]:
        """Outbox rows, oldest first."""
        conditions = [schema.outbox.c[name] == value for name, value in where.items()]
        with self.engine.connect() as connection:
            return list(connection.execute(select(schema.outbox).where(*conditions).order_by(schema.outbox.c.id)))

    def letters(self) -> list[Any]:
        """Dead letters, handled or not, oldest first."""
        with self.engine.connect() as connection:
            return list(connection.execute(select(schema.dead_letters).order_by(schema.dead_letters.c.id)))

    def publish(self, **options: Any) -> int:
        """The relay publishes one batch; how many rows."""
        return self.relay(**options).publish_batch(self.broker.open_publisher())

    def pending(self) -> list[int]:
        """Ids of the outbox rows that are not sent."""
        return [row.id for row in self.outbox(status=outbox.PENDING)]


class CommitReplies:
    """Loses replies to commits: after `lose(True)` the next transaction is committed, after `lose(False)` it is not; both raise."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._commit = engine.dialect.do_commit
        self._losses: list[bool] = []
        self.lost = 0
        engine.dialect.do_commit = self._do_commit  # type: ignore[method-assign]

    def lose(self, *committed: bool) -> None:
        self._losses += committed

    def _do_commit(self, connection: Any) -> None:
        if not self._losses:
            self._commit(connection)
            return
        self.lost += 1
        if self._losses.pop(0):
            self._commit(connection)
        raise sqlite3.OperationalError("the connection broke")

"""One body, two worlds: clients of a broker, a cache and a database, on simulated services and on real ones."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from sqlalchemy import BigInteger, Column, Engine, Index, MetaData, String, Table, UniqueConstraint, text

from chaos.environment import Services
from chaos.environments.local import LocalEnvironment
from chaos.faults import FailOverRedis, KillService
from chaos.simulation.database.dialect import DIALECT
from chaos.simulation.database.statements import Tables
from chaos.simulation.kernel.clock import Skew, ns
from chaos.simulation.kernel.scheduler import Waiters
from chaos.simulation.network.delays import Delays
from chaos.simulation.world import Bounds, Ports, ProcessPlan, World
from reference_impl.adapters.mysql import mysql_engine
from reference_impl.adapters.rabbitmq import RabbitBroker
from reference_impl.adapters.redis import redis_cache
from reference_impl.ports import Broker, Cache, Topology
from reference_impl.rows.database_clock import now_us
from scenarios.systems.reference.simulated import ReferenceErrorFactory

IO_TIMEOUT_S = 4.0
LOCK_WAIT_S = 1
"""A second is the shortest that InnoDB can be told."""
HEAL_TIMEOUT_S = 60.0

metadata = MetaData()
things = Table(
    "things",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("owner", String(16), nullable=False),
    Column("name", String(16), nullable=False),
    UniqueConstraint("name"),
    mysql_engine="InnoDB",
    mysql_charset="utf8mb4",
    mysql_collate="utf8mb4_bin",
)
numbered = Table(
    "numbered",
    metadata,
    Column("id", BigInteger().with_variant(BigInteger, "sqlite"), primary_key=True, autoincrement=True),
    Column("word", String(16), nullable=False),
    Column("at_us", BigInteger, nullable=False, default=now_us()),
    Index(None, "word"),
    mysql_engine="InnoDB",
)


class Signal(Protocol):
    """Something that one flow says and others wait for."""

    def give(self) -> None: ...

    def wait(self) -> None: ...


class Clients(Protocol):
    """A world as tests use it. `broker`, `cache`, `engine`: of a new process each."""

    name: str

    def broker(self) -> Broker: ...

    def cache(self) -> Cache: ...

    def engine(self) -> Engine: ...

    def topology(self, *, delivery_limit: int = 20) -> Topology: ...

    def rest(self, seconds: float) -> None: ...

    def signal(self) -> Signal: ...

    def together(self, *flows: Callable[[], Any]) -> list[Any]:
        """Run all at the same time; what each returned, or the exception it ended with."""

    def down(self, service: str) -> contextlib.AbstractContextManager[None]:
        """The service is killed, and back when this is left."""

    def fail_over(self) -> None:
        """The primary of Redis dies, and its replica takes over."""


class RealSignal:
    def __init__(self) -> None:
        self._event = threading.Event()

    def give(self) -> None:
        self._event.set()

    def wait(self) -> None:
        assert self._event.wait(30.0), "the signal was never given"


class RealClients:
    name = "real"

    def __init__(self, environment: LocalEnvironment, services: Services) -> None:
        self._environment = environment
        self._services = services
        self._closing = contextlib.ExitStack()
        self._count = 0

    def broker(self) -> Broker:
        assert self._services.rabbitmq is not None
        self._count += 1
        broker = RabbitBroker(self._services.rabbitmq.url, f"client-{self._count}", io_timeout_s=IO_TIMEOUT_S)
        self._closing.callback(broker.close)
        return broker

    def cache(self) -> Cache:
        redis = self._services.redis
        assert redis is not None
        return redis_cache(
            redis.url,
            sentinels=redis.sentinels,
            primary_name=redis.primary_name,
            prefix=f"{self._services.namespace}.",
            io_timeout_s=IO_TIMEOUT_S,
        )

    def engine(self) -> Engine:
        assert self._services.mysql is not None
        engine = mysql_engine(self._services.mysql.url, pool_size=4, io_timeout_s=IO_TIMEOUT_S)
        self._closing.callback(engine.dispose)
        return engine

    def create_tables(self) -> None:
        engine = self.engine()
        metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(text(f"SET GLOBAL innodb_lock_wait_timeout = {LOCK_WAIT_S}"))

    def topology(self, *, delivery_limit: int = 20) -> Topology:
        prefix = self._services.namespace
        return Topology(f"{prefix}.work", f"{prefix}.dead", delivery_limit)

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)  # what is tested here is what time does

    def signal(self) -> Signal:
        return RealSignal()

    def together(self, *flows: Callable[[], Any]) -> list[Any]:
        ends: list[Any] = [None] * len(flows)

        def run(number: int) -> None:
            try:
                ends[number] = flows[number]()
            except Exception as error:  # noqa: BLE001 — the test looks at it
                ends[number] = error

        threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(flows))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60.0)
            assert not thread.is_alive(), "a flow did not end"
        return ends

    @contextlib.contextmanager
    def down(self, service: str) -> Iterator[None]:
        injection = self._environment.injection(KillService(service), self._services, {})
        injection.begin()
        injection.await_bite(HEAL_TIMEOUT_S)
        try:
            yield
        finally:
            injection.end()
            injection.await_healed(HEAL_TIMEOUT_S)

    def fail_over(self) -> None:
        injection = self._environment.injection(FailOverRedis(), self._services, {})
        injection.begin()
        injection.await_bite(HEAL_TIMEOUT_S)
        injection.end()
        injection.await_healed(HEAL_TIMEOUT_S)

    def close(self) -> None:
        self._closing.close()


class SimulatedSignal:
    def __init__(self, world: World) -> None:
        self._world = world
        self._given = False
        self._waiting: Waiters = []

    def give(self) -> None:
        self._given = True
        self._world.scheduler.wake(self._waiting)

    def wait(self) -> None:
        while not self._given:
            assert self._world.scheduler.wait(self._waiting, ns(30.0)), "the signal was never given"


class SimulatedClients:
    name = "simulated"

    def __init__(self) -> None:
        self._world = World(
            "conformance",
            Tables(metadata, DIALECT),
            ReferenceErrorFactory(),
            Bounds(io_timeout_s=IO_TIMEOUT_S, pool_size=4, lock_wait_s=LOCK_WAIT_S),
            Delays(),
            call_faults={},
            apply=lambda *_: None,
            when_gone=lambda *_: None,
        )
        self._count = 0

    def run(self, body: Callable[[Clients], None]) -> None:
        """The body in a fiber of the world, until it ends."""
        ends: list[BaseException | None] = []

        def test() -> None:
            try:
                body(self)
                ends.append(None)
            except Exception as error:  # noqa: BLE001 — raised again where pytest sees it
                ends.append(error)
            self._world.scheduler.end()

        self._world.spawn("test", test)
        try:
            self._world.scheduler.run()
        finally:
            self._world.scheduler.close()
        if ends[0] is not None:
            raise ends[0]

    def broker(self) -> Broker:
        return self._ports().broker  # type: ignore[return-value]

    def cache(self) -> Cache:
        return self._ports().cache

    def engine(self) -> Engine:
        return self._ports().engine

    def topology(self, *, delivery_limit: int = 20) -> Topology:
        return Topology("work", "dead", delivery_limit)

    def rest(self, seconds: float) -> None:
        self._world.scheduler.rest(ns(seconds))

    def signal(self) -> Signal:
        return SimulatedSignal(self._world)

    def together(self, *flows: Callable[[], Any]) -> list[Any]:
        ends: list[Any] = [None] * len(flows)
        left = len(flows)
        ended: Waiters = []

        def run(number: int) -> None:
            nonlocal left
            try:
                ends[number] = flows[number]()
            except Exception as error:  # noqa: BLE001 — the test looks at it
                ends[number] = error
            left -= 1
            self._world.scheduler.wake(ended)

        for number in range(len(flows)):
            self._world.spawn(f"flow-{number}", lambda number=number: run(number))
        while left:
            self._world.scheduler.wait(ended)
        return ends

    @contextlib.contextmanager
    def down(self, service: str) -> Iterator[None]:
        if service == "rabbitmq":
            self._world.broker.kill_losing(unconfirmed=True, acknowledgements=False, young_queues=False)
        else:
            self._world.services[service].kill()
        try:
            yield
        finally:
            self._world.services[service].start()

    def fail_over(self) -> None:
        self.rest(0.2)  # as on real services, where what was written before the strike has reached the replica by then
        self._world.cache.kill()
        self.rest(2.0)
        self._world.cache.fail_over()
        self._world.cache.start()

    def _ports(self) -> Ports:
        """Of a process of its own that runs no loops."""
        given: list[Ports] = []

        def enter(ports: Ports) -> tuple[Sequence[Any], None]:
            given.append(ports)
            return (), None

        self._count += 1
        process = self._world.add(ProcessPlan(f"client-{self._count}", "client", enter), Skew())
        self._world.start(process)
        self.rest(0.001)
        return given[0]

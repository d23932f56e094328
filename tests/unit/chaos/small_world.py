"""A simulated world of a few fibers, for tests of what can go wrong in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, MetaData, Table

from chaos.simulation.broker.client import SimulatedBroker
from chaos.simulation.database.dialect import DIALECT
from chaos.simulation.database.statements import Tables
from chaos.simulation.kernel.clock import Skew, ns
from chaos.simulation.network.delays import Delays
from chaos.simulation.world import Bounds, Ports, ProcessPlan, SimulatedProcess, World

metadata = MetaData()
Table("things", metadata, Column("id", BigInteger, primary_key=True))


class Failed(Exception):
    """Whatever a simulated service or connection failed with."""


class Errors:
    """The errors and answers of the system that these tests stand for."""

    def unavailable(self, why: str) -> Exception:
        return Failed(why)

    def connection_lost(self, why: str) -> Exception:
        return Failed(why)

    def cache_unavailable(self, why: str) -> Exception:
        return Failed(why)

    def outcome(self, name: str) -> object:
        return name


@dataclass(frozen=True, slots=True)
class Letter:
    body: bytes
    queue: str = "work"


@dataclass(frozen=True, slots=True)
class Topology:
    work_queue: str = "work"
    dead_queue: str = "dead"
    delivery_limit: int = 20


class SmallWorld:
    """One process, `worker-1`, that does nothing by itself; the body of a test runs in a fiber beside it."""

    def __init__(self) -> None:
        self.world = World(
            "small",
            Tables(metadata, DIALECT),
            Errors(),
            Bounds(io_timeout_s=3.0, pool_size=2),
            Delays(),
            call_faults={},
            apply=lambda *_: None,
            when_gone=lambda *_: None,
        )
        self.incarnations: list[Ports] = []
        self.process: SimulatedProcess = self.world.add(ProcessPlan("worker-1", "worker", self._enter), Skew())

    @property
    def broker(self) -> SimulatedBroker:
        return self.incarnations[-1].broker

    def rest(self, seconds: float) -> None:
        self.world.scheduler.rest(ns(seconds))

    def run(self, body: Callable[[], None]) -> None:
        """The body in a fiber, until it ends; what it raises is raised."""
        ends: list[BaseException] = []

        def test() -> None:
            try:
                self.world.start(self.process)
                self.rest(0.001)
                body()
            except Exception as error:  # noqa: BLE001  raised again where pytest sees it
                ends.append(error)
            self.world.scheduler.end()

        self.world.spawn("test", test)
        try:
            self.world.scheduler.run()
        finally:
            self.world.scheduler.close()
        if ends:
            raise ends[0]

    def in_worker(self, body: Callable[[], Any]) -> list[Any]:
        """Have the worker do something; where its result, or what it raised, will be."""
        ends: list[Any] = []

        def work() -> None:
            try:
                ends.append(body())
            except Failed as error:
                ends.append(error)

        assert self.process.life is not None
        self.world.scheduler.spawn(f"worker-1/{self.world.scheduler.steps}", self.process.life, work)
        return ends

    @contextmanager
    def timed(self) -> Iterator[list[float]]:
        """Seconds of the world's clock that the block took, once it is over."""
        took: list[float] = []
        began_ns = self.world.now_ns
        yield took
        took.append((self.world.now_ns - began_ns) / 1e9)

    def _enter(self, ports: Ports) -> tuple[list[Any], None]:
        self.incarnations.append(ports)
        return [], None

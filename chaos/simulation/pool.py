"""Engines for simulated processes: SQLAlchemy's own, with a pool whose waiting happens in the scheduler."""

import logging
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, StaticPool, make_url
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import Pool
from sqlalchemy.pool.base import ConnectionPoolEntry, _ConnectionRecord

from chaos.simulation.database import DatabaseServer
from chaos.simulation.dialect import DIALECT
from chaos.simulation.driver import Connection, ReadingConnection
from chaos.simulation.scheduler import Scheduler, Waiters

_COMPILED: dict[Any, Any] = {}
"""Statements compiled once for all worlds."""
_QUIET = logging.getLogger(__name__)
_QUIET.disabled = True
_URL = make_url("sqlite+simulated://")


class FiberPool(Pool):
    """At most `size` connections; whoever wants another waits for one, up to `timeout_ns`."""

    def __init__(self, scheduler: Scheduler, connect: Callable[[], Connection], *, size: int, timeout_ns: int) -> None:
        super().__init__(connect, dialect=DIALECT)  # type: ignore[arg-type]
        self.logger = _QUIET  # a process that dies while its pool cleans up is no news in here
        self._scheduler = scheduler
        self._size = size
        self._timeout_ns = timeout_ns
        self._idle: list[ConnectionPoolEntry] = []
        self._waiting: Waiters = []
        self._count = 0

    def status(self) -> str:
        """For people."""
        return f"{self._count} connections, {len(self._idle)} idle"

    def dispose(self) -> None:
        """Forget the idle ones."""
        self._count -= len(self._idle)
        self._idle.clear()

    def recreate(self) -> "FiberPool":
        """Another one like it."""
        return FiberPool(self._scheduler, self._creator, size=self._size, timeout_ns=self._timeout_ns)  # type: ignore[arg-type]

    def _do_get(self) -> ConnectionPoolEntry:
        until_ns = self._scheduler.now_ns + self._timeout_ns
        while not self._idle and self._count >= self._size:
            left_ns = until_ns - self._scheduler.now_ns
            if left_ns <= 0 or not self._scheduler.wait(self._waiting, left_ns):
                raise PoolTimeout(f"no connection was free for {self._timeout_ns / 1e9:g} s")
        if self._idle:
            return self._idle.pop()
        self._count += 1
        try:
            return _ConnectionRecord(self)
        except BaseException:
            self._count -= 1
            raise

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        self._idle.append(record)
        if self._waiting:
            self._scheduler.wake(self._waiting)


def simulated_engine(
    scheduler: Scheduler, connect: Callable[[], Connection], *, pool_size: int, pool_timeout_ns: int
) -> Engine:
    """An engine for one process."""
    pool = FiberPool(scheduler, connect, size=pool_size, timeout_ns=pool_timeout_ns)
    engine = Engine(pool, DIALECT, _URL)
    engine.update_execution_options(compiled_cache=_COMPILED)
    return engine


def reading_engine(server: DatabaseServer) -> Engine:
    """An engine for the lab, which only looks."""
    pool = StaticPool(lambda: ReadingConnection(server), dialect=DIALECT)  # type: ignore[arg-type]
    engine = Engine(pool, DIALECT, _URL)
    engine.update_execution_options(compiled_cache=_COMPILED)
    return engine

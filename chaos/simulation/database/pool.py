"""SQLAlchemy engines for simulated processes, on a pool that waits in the scheduler."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, make_url
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import Pool, PoolProxiedConnection

from chaos.simulation.database.database import DatabaseServer
from chaos.simulation.database.dialect import DIALECT
from chaos.simulation.database.driver import DatabaseConnection, ReadingConnection
from chaos.simulation.database.prepared import PreparedConnection
from chaos.simulation.kernel.scheduler import Scheduler, Waiters

_COMPILED: dict[Any, Any] = {}
"""Compiled statements, shared by all worlds."""
_URL = make_url("sqlite+simulated://")


class _Slot:
    """A slot for a connection in a pool: empty before the connection is made and after it proved broken."""

    __slots__ = ("connection", "generation")

    def __init__(self) -> None:
        self.connection: DatabaseConnection | ReadingConnection | None = None
        self.generation = 0


class PooledConnection(PoolProxiedConnection):
    """A connection that is checked out; returned once, whole or invalidated."""

    __slots__ = ("_pool", "dbapi_connection", "driver_connection", "slot")

    def __init__(self, pool: "FiberPool", slot: _Slot) -> None:
        self._pool = pool
        self.slot = slot
        self.driver_connection: Any = slot.connection
        self.dbapi_connection: Any = slot.connection

    def cursor(self, *args: Any, **kwargs: Any) -> Any:
        """A new cursor of the connection."""
        return self.driver_connection.cursor()

    def commit(self) -> None:
        """Commit on the connection."""
        self.driver_connection.commit()

    def rollback(self) -> None:
        """Roll back on the connection."""
        self.driver_connection.rollback()

    @property
    def is_valid(self) -> bool:
        """Whether it is still checked out."""
        return self.dbapi_connection is not None

    @property
    def is_detached(self) -> bool:
        """Never: it always belongs to its pool."""
        return False

    def invalidate(self, e: BaseException | None = None, soft: bool = False) -> None:
        """Return an empty slot: the connection is unusable."""
        if self.dbapi_connection is not None:
            self.dbapi_connection = None
            self._pool.vacate(self.slot)
            self._pool.take_back(self.slot)

    def close(self) -> None:
        """Return it, after a rollback."""
        self._close_special(transaction_reset=False)

    def _close_special(self, *, transaction_reset: bool) -> None:
        """Called by SQLAlchemy, also right after a rollback of its own."""
        if self.dbapi_connection is None:
            return
        self.dbapi_connection = None
        try:
            if not transaction_reset:
                self.rollback()
        except BaseException as error:
            self._pool.vacate(self.slot)
            if not isinstance(error, Exception):
                raise
        finally:
            self._pool.take_back(self.slot)


class FiberPool(Pool):
    """At most `size` connections; a fiber that needs one more waits for it, up to `timeout_ns`.

    After one proved broken, all older ones are replaced when next checked out, as in SQLAlchemy's own pools.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        connect: Callable[[], DatabaseConnection | ReadingConnection],
        *,
        size: int,
        timeout_ns: int,
    ) -> None:
        super().__init__(connect, dialect=DIALECT)  # type: ignore[arg-type]
        self._scheduler = scheduler
        self._make = connect
        self._size = size
        self._timeout_ns = timeout_ns
        self._idle: list[_Slot] = []
        self._waiting: Waiters = []
        self._count = 0
        self._generation = 0

    def status(self) -> str:
        """A summary for people."""
        return f"{self._count} connections, {len(self._idle)} idle"

    def dispose(self) -> None:
        """Drop the idle connections."""
        self._count -= len(self._idle)
        self._idle.clear()

    def recreate(self) -> "FiberPool":
        """A new pool with the same settings."""
        return FiberPool(self._scheduler, self._make, size=self._size, timeout_ns=self._timeout_ns)

    def connect(self) -> PoolProxiedConnection:
        """Check out a connection not known to be broken.

        Raises:
            PoolTimeout: none was free in time.
        """
        slot = self._idle.pop() if self._idle else self._wait_for_slot()
        if slot.connection is None or slot.generation != self._generation:
            self._fill(slot)
        return PooledConnection(self, slot)

    def vacate(self, slot: _Slot) -> None:
        """Close the connection of this slot."""
        connection, slot.connection = slot.connection, None
        if connection is not None:
            connection.close()

    def take_back(self, slot: _Slot) -> None:
        """The slot is free."""
        self._idle.append(slot)
        if self._waiting:
            self._scheduler.wake(self._waiting)

    def _wait_for_slot(self) -> _Slot:
        until_ns = self._scheduler.now_ns + self._timeout_ns
        while not self._idle and self._count >= self._size:
            left_ns = until_ns - self._scheduler.now_ns
            if left_ns <= 0 or not self._scheduler.wait(self._waiting, left_ns):
                raise PoolTimeout(f"no connection was free for {self._timeout_ns / 1e9:g} s")
        if self._idle:
            return self._idle.pop()
        self._count += 1
        try:
            slot = _Slot()
            self._connect(slot)
            return slot
        except BaseException:
            self._count -= 1
            raise

    def _fill(self, slot: _Slot) -> None:
        try:
            self.vacate(slot)
            self._connect(slot)
        except BaseException:
            self.take_back(slot)
            raise

    def _connect(self, slot: _Slot) -> None:
        slot.generation = self._generation  # taken before the connect: a connection that breaks meanwhile is not newer
        slot.connection = self._make()

    def _invalidate(self, connection: Any, exception: BaseException | None = None, _checkin: bool = True) -> None:
        """Called by SQLAlchemy with a broken connection; invalidates all connections made before."""
        if connection.slot.generation == self._generation:
            self._generation += 1
        if _checkin:
            connection.invalidate(exception)


def simulated_engine(
    scheduler: Scheduler, connect: Callable[[], DatabaseConnection], *, pool_size: int, pool_timeout_ns: int
) -> Engine:
    """An engine for one process."""
    return _engine(FiberPool(scheduler, connect, size=pool_size, timeout_ns=pool_timeout_ns))


def reading_engine(scheduler: Scheduler, server: DatabaseServer) -> Engine:
    """An engine for the lab, which only reads."""
    return _engine(FiberPool(scheduler, lambda: ReadingConnection(server), size=1, timeout_ns=0))


def _engine(pool: Pool) -> Engine:
    engine = Engine(pool, DIALECT, _URL)
    engine.update_execution_options(compiled_cache=_COMPILED)
    engine._connection_cls = PreparedConnection
    return engine

"""Engines for simulated processes: those of SQLAlchemy, on a pool that waits in the scheduler."""

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
"""Statements compiled once for all worlds."""
_URL = make_url("sqlite+simulated://")


class _Place:
    """A connection's place in a pool: empty before it is made, and after it has proved to be broken."""

    __slots__ = ("connection", "generation")

    def __init__(self) -> None:
        self.connection: DatabaseConnection | ReadingConnection | None = None
        self.generation = 0


class PooledConnection(PoolProxiedConnection):
    """A connection that is checked out; given back once, whole or invalidated."""

    __slots__ = ("_pool", "dbapi_connection", "driver_connection", "place")

    def __init__(self, pool: "FiberPool", place: _Place) -> None:
        self._pool = pool
        self.place = place
        self.driver_connection: Any = place.connection
        self.dbapi_connection: Any = place.connection

    def cursor(self, *args: Any, **kwargs: Any) -> Any:
        """A new cursor of the leased connection."""
        return self.driver_connection.cursor()

    def commit(self) -> None:
        """Commit on the leased connection."""
        self.driver_connection.commit()

    def rollback(self) -> None:
        """Roll back on the leased connection."""
        self.driver_connection.rollback()

    @property
    def is_valid(self) -> bool:
        """Whether it is still leased."""
        return self.dbapi_connection is not None

    @property
    def is_detached(self) -> bool:
        """It never leaves its pool."""
        return False

    def invalidate(self, e: BaseException | None = None, soft: bool = False) -> None:
        """Give an empty place back: the connection is of no more use."""
        if self.dbapi_connection is not None:
            self.dbapi_connection = None
            self._pool.vacate(self.place)
            self._pool.take_back(self.place)

    def close(self) -> None:
        """Give it back, with nothing begun in it."""
        self._close_special(transaction_reset=False)

    def _close_special(self, *, transaction_reset: bool) -> None:
        """Called by SQLAlchemy where it has just rolled back by itself."""
        if self.dbapi_connection is None:
            return
        self.dbapi_connection = None
        try:
            if not transaction_reset:
                self.rollback()
        except BaseException as error:
            self._pool.vacate(self.place)
            if not isinstance(error, Exception):
                raise
        finally:
            self._pool.take_back(self.place)


class FiberPool(Pool):
    """At most `size` connections; a fiber that needs another one waits for it, up to `timeout_ns`.

    Where one has proved to be broken, those made before it are made anew when they are next wanted, as SQLAlchemy's own pools do.
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
        self._idle: list[_Place] = []
        self._waiting: Waiters = []
        self._count = 0
        self._generation = 0

    def status(self) -> str:
        """For people."""
        return f"{self._count} connections, {len(self._idle)} idle"

    def dispose(self) -> None:
        """Forget the idle ones."""
        self._count -= len(self._idle)
        self._idle.clear()

    def recreate(self) -> "FiberPool":
        """Another one like it."""
        return FiberPool(self._scheduler, self._make, size=self._size, timeout_ns=self._timeout_ns)

    def connect(self) -> PoolProxiedConnection:
        """A connection that works, as far as is known.

        Raises:
            PoolTimeout: none was free in time.
        """
        place = self._idle.pop() if self._idle else self._wait_for_place()
        if place.connection is None or place.generation != self._generation:
            self._fill(place)
        return PooledConnection(self, place)

    def vacate(self, place: _Place) -> None:
        """Close the connection of this place."""
        connection, place.connection = place.connection, None
        if connection is not None:
            connection.close()

    def take_back(self, place: _Place) -> None:
        """The place is free."""
        self._idle.append(place)
        if self._waiting:
            self._scheduler.wake(self._waiting)

    def _wait_for_place(self) -> _Place:
        until_ns = self._scheduler.now_ns + self._timeout_ns
        while not self._idle and self._count >= self._size:
            left_ns = until_ns - self._scheduler.now_ns
            if left_ns <= 0 or not self._scheduler.wait(self._waiting, left_ns):
                raise PoolTimeout(f"no connection was free for {self._timeout_ns / 1e9:g} s")
        if self._idle:
            return self._idle.pop()
        self._count += 1
        try:
            place = _Place()
            self._connect(place)
            return place
        except BaseException:
            self._count -= 1
            raise

    def _fill(self, place: _Place) -> None:
        try:
            self.vacate(place)
            self._connect(place)
        except BaseException:
            self.take_back(place)
            raise

    def _connect(self, place: _Place) -> None:
        place.generation = self._generation  # of when it began: what breaks while it is made is not younger
        place.connection = self._make()

    def _invalidate(self, connection: Any, exception: BaseException | None = None, _checkin: bool = True) -> None:
        """Called by SQLAlchemy with a lease whose connection is broken; invalidates all connections made before."""
        if connection.place.generation == self._generation:
            self._generation += 1
        if _checkin:
            connection.invalidate(exception)


def simulated_engine(
    scheduler: Scheduler, connect: Callable[[], DatabaseConnection], *, pool_size: int, pool_timeout_ns: int
) -> Engine:
    """An engine for one process."""
    return _engine(FiberPool(scheduler, connect, size=pool_size, timeout_ns=pool_timeout_ns))


def reading_engine(scheduler: Scheduler, server: DatabaseServer) -> Engine:
    """An engine for the lab, which only looks."""
    return _engine(FiberPool(scheduler, lambda: ReadingConnection(server), size=1, timeout_ns=0))


def _engine(pool: Pool) -> Engine:
    engine = Engine(pool, DIALECT, _URL)
    engine.update_execution_options(compiled_cache=_COMPILED)
    engine._connection_cls = PreparedConnection
    return engine

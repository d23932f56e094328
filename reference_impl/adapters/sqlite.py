"""The database port over SQLite, for the embedded mode: one file, one process, several threads."""

import sqlite3
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, Pool, create_engine, event


def system_now_us() -> int:
    """The system clock, in microseconds since the Unix epoch."""
    return time.time_ns() // 1000


def sqlite_engine(
    url: str,
    *,
    io_timeout_s: float,
    clock_us: Callable[[], int] = system_now_us,
    poolclass: type[Pool] | None = None,
) -> Engine:
    """An engine in which writers wait for each other. `clock_us` serves as the database's clock, which SQLite lacks.

    WAL: readers do not wait. synchronous=NORMAL: a killed process loses nothing, a power failure may lose the last commits.
    """
    engine = create_engine(
        url,
        poolclass=poolclass,
        hide_parameters=True,  # parameters contain payloads, and errors are logged
        connect_args={"timeout": io_timeout_s, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # the driver must not begin transactions implicitly: `begin` below does it
        connection.create_function("now_us", 0, clock_us)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # IMMEDIATE: a transaction that may write takes the write lock at its start, so it cannot fail half-way. A read takes no lock.
        reads_only = connection.get_execution_options().get("reads_only", False)
        connection.exec_driver_sql("BEGIN" if reads_only else "BEGIN IMMEDIATE")

    return engine

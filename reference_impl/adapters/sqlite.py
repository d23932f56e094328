"""The database port over SQLite, for the embedded mode: one file, one process, many threads."""

import sqlite3
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, Pool, create_engine, event


def system_now_us() -> int:
    """This machine's clock, microseconds since the Unix epoch."""
    return time.time_ns() // 1000


def sqlite_engine(
    url: str,
    *,
    io_timeout_s: float,
    clock_us: Callable[[], int] = system_now_us,
    poolclass: type[Pool] | None = None,
) -> Engine:
    """An engine whose writers wait their turn. `clock_us` is the database's clock: SQLite has none that can be set.

    WAL, so that readers do not wait; synchronous=NORMAL: a killed process loses nothing, a power cut may lose the last commits.
    """
    engine = create_engine(
        url,
        poolclass=poolclass,
        hide_parameters=True,  # they hold payloads, and errors are logged
        connect_args={"timeout": io_timeout_s, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # pysqlite must not begin transactions by itself: `begin` below does
        connection.create_function("now_us", 0, clock_us)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # IMMEDIATE: whoever may write takes the lock at once, so no two transactions meet half-way and fail. Who only reads takes none.
        reads_only = connection.get_execution_options().get("reads_only", False)
        connection.exec_driver_sql("BEGIN" if reads_only else "BEGIN IMMEDIATE")

    return engine

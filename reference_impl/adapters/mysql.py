"""The database port over MySQL or MariaDB: PyMySQL under a SQLAlchemy engine."""

from sqlalchemy import Engine, create_engine


def mysql_engine(url: str, *, pool_size: int, io_timeout_s: float) -> Engine:
    """An engine in which every wait has a time-out.

    READ COMMITTED: conditional updates by key need no gap locks, the main source of deadlocks. UTC: `now_us` reads the server's
    clock through the session's time zone. Read and write time-outs: PyMySQL has none by default and would wait forever on a
    silent connection. The server's lock wait time-out is half of the client's: otherwise, after the client's time-out, the session
    would keep waiting and then hold locks for a client that is gone. `hide_parameters`: statement parameters contain payloads.
    """
    lock_wait_s = max(1, int(io_timeout_s / 2))
    return create_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=io_timeout_s,
        pool_pre_ping=False,  # a stale connection fails at the first statement, and the transaction is retried
        isolation_level="READ COMMITTED",
        hide_parameters=True,
        connect_args={
            "connect_timeout": max(1, round(io_timeout_s)),
            "read_timeout": io_timeout_s,
            "write_timeout": io_timeout_s,
            "init_command": f"SET time_zone = '+00:00', innodb_lock_wait_timeout = {lock_wait_s}",
            "charset": "utf8mb4",
        },
    )

"""The database port over MySQL or MariaDB: PyMySQL under a SQLAlchemy engine."""

from sqlalchemy import Engine, create_engine


def mysql_engine(url: str, *, pool_size: int, io_timeout_s: float) -> Engine:
    """An engine whose every wait is bounded.

    READ COMMITTED, because conditional updates by key need no gap locks, which are where deadlocks come from. UTC, because
    `now_us` reads the server's clock through the session's time zone. PyMySQL's own read time-out is none: behind a black hole
    it would wait for ever.
    """
    return create_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=io_timeout_s,
        pool_pre_ping=False,  # a stale connection shows itself at the first statement, and the transaction is run again
        isolation_level="READ COMMITTED",
        connect_args={
            "connect_timeout": max(1, round(io_timeout_s)),
            "read_timeout": io_timeout_s,
            "write_timeout": io_timeout_s,
            "init_command": "SET time_zone = '+00:00'",
            "charset": "utf8mb4",
        },
    )

"""The database port over MySQL or MariaDB: PyMySQL under a SQLAlchemy engine."""

from sqlalchemy import Engine, create_engine


def mysql_engine(url: str, *, pool_size: int, io_timeout_s: float) -> Engine:
    """An engine whose every wait is bounded.

    READ COMMITTED, because conditional updates by key need no gap locks, which are where deadlocks come from. UTC, because
    `now_us` reads the server's clock through the session's time zone. PyMySQL's own read time-out is none: behind a black hole
    it would wait for ever. The server gives up waiting for a row lock well before we give up waiting for the server: else its
    session would go on waiting, and then hold locks, for somebody who is gone. Errors do not show the parameters of statements,
    which hold payloads.
    """
    lock_wait_s = max(1, int(io_timeout_s / 2))
    return create_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=io_timeout_s,
        pool_pre_ping=False,  # a stale connection shows itself at the first statement, and the transaction is run again
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

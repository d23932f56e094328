"""Short transactions with three possible ends: committed, certainly not committed, or unknown."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from reference_impl.errors import CommitUnknown, DatabaseUnavailable

T = TypeVar("T")

TRIES_MAX = 4
"""A deadlock victim may be chosen again; four deadlocks in a row are a design error, not chance."""

_ROLLED_BACK = {
    1205,  # lock wait time-out: InnoDB rolled back one statement only, so we roll back the whole transaction
    1213,  # deadlock victim
    1020,  # MariaDB: record has changed since last read
}


def transact(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Run `work` in one transaction and return its result; retry if the database certainly rolled it back and a retry may succeed.

    `work` may run several times, so it must have no effects outside the database.

    Raises:
        DatabaseUnavailable: nothing was committed.
        CommitUnknown: the commit was sent and no reply arrived. The caller must be correct in both cases.
    """
    return _with_retries(engine, work, _commit)


def read(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Run `work`, which only reads, and return its result. Nothing is committed, so the result cannot be unknown.

    Raises:
        DatabaseUnavailable: the database did not answer.
    """
    return _with_retries(engine, work, _read_once)


def _with_retries(
    engine: Engine, work: Callable[[Connection], T], once: Callable[[Connection, Callable[[Connection], T]], T]
) -> T:
    for attempt in range(1, TRIES_MAX + 1):
        try:
            with engine.connect() as connection:
                return once(connection, work)
        except PoolTimeout as error:
            raise DatabaseUnavailable(_reason(error)) from error
        except (OperationalError, InterfaceError, InternalError) as error:
            if not _may_succeed(error) or attempt == TRIES_MAX:
                raise DatabaseUnavailable(_reason(error)) from error
    raise AssertionError("the last try returns or raises")


def _commit(connection: Connection, work: Callable[[Connection], T]) -> T:
    transaction = connection.begin()
    try:
        result = work(connection)
    except BaseException:
        # After any exception: this transaction must not survive in a pooled connection.
        _roll_back(connection)
        raise
    try:
        transaction.commit()
    except DBAPIError as error:
        _roll_back(connection)
        if _is_rolled_back(error):
            raise
        # The reply was lost, or is an error (session killed, server shutting down) that may also follow a successful commit.
        raise CommitUnknown(_reason(error)) from error
    return result


def _read_once(connection: Connection, work: Callable[[Connection], T]) -> T:
    try:
        return work(connection.execution_options(reads_only=True))
    finally:
        _roll_back(connection)


def _roll_back(connection: Connection) -> None:
    try:
        connection.rollback()
    except DBAPIError:
        connection.invalidate()


def _is_rolled_back(error: DBAPIError) -> bool:
    """Whether the server's error states unambiguously that the transaction was rolled back."""
    arguments = getattr(error.orig, "args", ())
    return next(iter(arguments), None) in _ROLLED_BACK or "database is locked" in str(error.orig)


def _may_succeed(error: DBAPIError) -> bool:
    """Whether a retry may succeed: rolled back by the server, or the connection broke before the commit was sent."""
    return _is_rolled_back(error) or error.connection_invalidated


def _reason(error: BaseException) -> str:
    """The driver's message, without the statement and its parameters, which may contain a payload."""
    return str(getattr(error, "orig", None) or error)[:200]

"""Short transactions that end in one of three ways: committed, surely not committed, or nobody knows."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from reference_impl.errors import CommitUnknown, DatabaseUnavailable

T = TypeVar("T")

TRIES_MAX = 4
"""A deadlock victim may be one again; four times in a row is not bad luck but a design that must be mended."""

_ROLLED_BACK = {
    1205,  # lock wait time-out: InnoDB undid one statement only, so the whole transaction is rolled back here
    1213,  # deadlock victim
    1020,  # MariaDB: record has changed since last read
}


def transact(engine: Engine, work: Callable[[Connection], T]) -> T:
    """What `work` returns, done in one transaction; it is run again where the database surely undid it and another try may help.

    `work` must do nothing but talk to the database: it may run several times.

    Raises:
        DatabaseUnavailable: nothing was committed.
        CommitUnknown: the commit was sent, its answer never came. What follows must be safe either way.
    """
    for attempt in range(1, TRIES_MAX + 1):
        try:
            return _once(engine, work)
        except PoolTimeout as error:
            raise DatabaseUnavailable(_why(error)) from error
        except (OperationalError, InterfaceError, InternalError) as error:
            if not _may_heal(error) or attempt == TRIES_MAX:
                raise DatabaseUnavailable(_why(error)) from error
    raise AssertionError("the last try either returned or raised")


def _once(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.connect() as connection:
        transaction = connection.begin()
        try:
            result = work(connection)
        except BaseException:
            # Whatever it was, this transaction must not live on in a pooled connection.
            _roll_back(connection)
            raise
        try:
            transaction.commit()
        except DBAPIError as error:
            # A server that answers a commit with an error has not committed; one that does not answer may have.
            _roll_back(connection)
            if _code(error) in _ROLLED_BACK or "database is locked" in str(error.orig):
                raise
            raise CommitUnknown(_why(error)) from error
        return result


def _roll_back(connection: Connection) -> None:
    try:
        connection.rollback()
    except DBAPIError:
        connection.invalidate()


def _code(error: DBAPIError) -> int | None:
    arguments = getattr(error.orig, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def _may_heal(error: DBAPIError) -> bool:
    """Whether a fresh try may go better: undone by the server, or the connection broke before the commit was sent."""
    return _code(error) in _ROLLED_BACK or error.connection_invalidated or "database is locked" in str(error.orig)


def _why(error: BaseException) -> str:
    """The driver's own words, without the statement and its parameters, which may hold a payload."""
    return str(getattr(error, "orig", None) or error)[:200]

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
    return _repeated(engine, work, _commit)


def read(engine: Engine, work: Callable[[Connection], T]) -> T:
    """What `work` returns, which only looks: nothing is committed, so nothing can be unknown.

    Raises:
        DatabaseUnavailable: it could not be read.
    """
    return _repeated(engine, work, _look)


def _repeated(
    engine: Engine, work: Callable[[Connection], T], once: Callable[[Connection, Callable[[Connection], T]], T]
) -> T:
    for attempt in range(1, TRIES_MAX + 1):
        try:
            with engine.connect() as connection:
                return once(connection, work)
        except PoolTimeout as error:
            raise DatabaseUnavailable(_why(error)) from error
        except (OperationalError, InterfaceError, InternalError) as error:
            if not _may_heal(error) or attempt == TRIES_MAX:
                raise DatabaseUnavailable(_why(error)) from error
    raise AssertionError("the last try either returned or raised")


def _commit(connection: Connection, work: Callable[[Connection], T]) -> T:
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
        _roll_back(connection)
        if _is_undone(error):
            raise
        # The answer was lost, or is one of those (a killed session, a server on its way down) that also come after a commit.
        raise CommitUnknown(_why(error)) from error
    return result


def _look(connection: Connection, work: Callable[[Connection], T]) -> T:
    try:
        return work(connection.execution_options(reads_only=True))
    finally:
        _roll_back(connection)


def _roll_back(connection: Connection) -> None:
    try:
        connection.rollback()
    except DBAPIError:
        connection.invalidate()


def _code(error: DBAPIError) -> int | None:
    arguments = getattr(error.orig, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def _is_undone(error: DBAPIError) -> bool:
    """Whether the server said that it has not done it, in words that leave no doubt."""
    return _code(error) in _ROLLED_BACK or "database is locked" in str(error.orig)


def _may_heal(error: DBAPIError) -> bool:
    """Whether a fresh try may go better: undone by the server, or the connection broke before the commit was sent."""
    return _is_undone(error) or error.connection_invalidated


def _why(error: BaseException) -> str:
    """The driver's own words, without the statement and its parameters, which may hold a payload."""
    return str(getattr(error, "orig", None) or error)[:200]

"""Connections of the lab to a PostgreSQL server: each step has a time-out, and each error is an OSError or PostgreSQL's own."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pg8000.native
from pg8000.exceptions import DatabaseError, Error

from chaos.errors import ServiceUnavailable
from chaos.services.addresses import PostgresqlAddress
from chaos.services.server import ROUND_TRIP_TIMEOUT_S

STATEMENT_TIMEOUT_S = 30.0
MAINTENANCE_DATABASE = "postgres"
"""The database that every server has: connections that create or drop another one use it."""
ERRORS = (Error, OSError)
"""All that a connection raises."""


@contextmanager
def connected(address: PostgresqlAddress, timeout_s: float) -> Iterator[pg8000.native.Connection]:
    """A connection to the database of the address; each step takes at most `timeout_s`."""
    connection = connect(address, timeout_s)
    try:
        yield connection
    finally:
        close(connection)


def connect(address: PostgresqlAddress, timeout_s: float) -> pg8000.native.Connection:
    """As `connected`, to be closed by `close`."""
    # pg8000 would hide a time-out of its own socket behind another error.
    line = socket.create_connection((address.host, address.port), timeout_s)
    with ExitStack() as on_error:
        on_error.callback(line.close)
        connection = pg8000.native.Connection(
            address.user, database=address.database or MAINTENANCE_DATABASE, password=address.password, sock=line
        )
        on_error.pop_all()
    return connection


def close(connection: pg8000.native.Connection) -> None:
    """Close the connection; a broken one is already closed."""
    with suppress(*ERRORS):
        connection.close()


def words(error: Exception) -> str:
    """The message of an error; PostgreSQL's own without its codes and positions."""
    if isinstance(error, DatabaseError) and error.args and isinstance(error.args[0], dict):
        return str(error.args[0].get("M", error))
    return str(error) or type(error).__name__


def missing(address: PostgresqlAddress, timeout_s: float = ROUND_TRIP_TIMEOUT_S) -> str:
    """Why the server does not answer a statement; "" if it does."""
    try:
        read_version(address, timeout_s)
    except ERRORS as error:
        return f"no answer to SELECT at {address.host}:{address.port} ({words(error)})"
    return ""


def read_version(address: PostgresqlAddress, timeout_s: float = ROUND_TRIP_TIMEOUT_S) -> str:
    """As the server reports it."""
    with connected(address, timeout_s) as connection:
        ((version,),) = connection.run("SELECT current_setting('server_version')")
    return str(version)


def replace_database(address: PostgresqlAddress, old: str, new: str, timeout_s: float = STATEMENT_TIMEOUT_S) -> None:
    """Drop the database of the run before ("": none), and create that of the next; raises as `create_database`.

    A database has three hundred files. After a kill the server syncs all of them before it answers, and so does every drop: with
    those of fifty runs it would take a minute.
    """
    if old:
        drop_database(address, old, timeout_s)
    create_database(address, new, timeout_s)


def create_database(address: PostgresqlAddress, name: str, timeout_s: float = STATEMENT_TIMEOUT_S) -> None:
    """Create the database of that name, empty; an existing one is dropped. Uses the database of `address` meanwhile.

    Raises:
        ServiceUnavailable: the server does not answer, or the user lacks the right.
    """
    drop_database(address, name, timeout_s)
    # No client can be connected to template0; a connection to the default template would be an error here.
    _execute(address, f'CREATE DATABASE "{name}" TEMPLATE template0', timeout_s)


def drop_database(address: PostgresqlAddress, name: str, timeout_s: float = STATEMENT_TIMEOUT_S) -> None:
    """Drop the database of that name, and end the connections to it. Idempotent; raises as `create_database`."""
    _execute(address, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)', timeout_s)


def _execute(address: PostgresqlAddress, statement: str, timeout_s: float) -> None:
    try:
        with connected(address, timeout_s) as connection:
            connection.run(statement)
    except ERRORS as error:
        raise ServiceUnavailable(
            "postgresql", f"{statement} failed at {address.host}:{address.port}: {words(error)}"
        ) from error

"""The descriptor of PostgreSQL."""

import time
from dataclasses import replace
from urllib.parse import unquote

from pg8000.exceptions import Error

from chaos.services.addresses import PostgresqlAddress
from chaos.services.descriptor import ServiceDescriptor
from chaos.services.exchange import as_os_errors
from chaos.services.postgresql import client
from chaos.services.postgresql.container import PostgresqlContainer
from chaos.services.postgresql.contents import read_contents
from chaos.services.postgresql.server import PostgresqlServer
from chaos.services.url import split_url


class PostgresqlExchange:
    """Requests a text of the given length."""

    def __init__(self, address: PostgresqlAddress, timeout_s: float) -> None:
        with as_os_errors(Error):
            self._connection = client.connect(address, timeout_s)

    def ask(self, reply_bytes: int = 0) -> float:
        """Seconds until the text is complete."""
        began_s = time.monotonic()
        with as_os_errors(Error):
            self._connection.run(f"SELECT repeat('x', {reply_bytes:d})")
        return time.monotonic() - began_s

    def close(self) -> None:
        """Close the connection; a broken one is already closed."""
        client.close(self._connection)


def read_url(url: str) -> PostgresqlAddress:
    """`postgresql://user:password@host:port/database`; connections that create and drop the databases of runs use that database."""
    parts = split_url(url, ("postgresql", "postgres"))
    user, password = unquote(parts.username or "postgres"), unquote(parts.password or "")
    database = unquote(parts.path.removeprefix("/"))
    return PostgresqlAddress(str(parts.hostname), parts.port or 5432, user, password, database)


def provision(address: PostgresqlAddress, namespace: str) -> PostgresqlAddress:
    """The database of the run, created empty."""
    client.create_database(address, namespace)
    return replace(address, database=namespace)


DESCRIPTOR = ServiceDescriptor(
    name="postgresql",
    address=PostgresqlAddress,
    server=PostgresqlServer,
    container=PostgresqlContainer,
    image="postgres:16",
    read_url=read_url,
    missing=lambda address: client.missing(address),
    version=client.read_version,
    open_exchange=PostgresqlExchange,
    provision=provision,
    remove=client.drop_database,
    contents=lambda address, _: read_contents(address),
    proxy_kinds=lambda address: ("proxy",),
)

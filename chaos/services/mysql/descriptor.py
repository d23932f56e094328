"""The descriptor of MariaDB or MySQL."""

import time
from contextlib import suppress
from dataclasses import replace
from urllib.parse import unquote

import pymysql

from chaos.services.addresses import MysqlAddress
from chaos.services.descriptor import ServiceDescriptor
from chaos.services.exchange import as_os_errors
from chaos.services.mysql import server
from chaos.services.mysql.container import MysqlContainer
from chaos.services.mysql.contents import read_contents
from chaos.services.url import split_url


class MysqlExchange:
    """Requests a text of the given length."""

    def __init__(self, address: MysqlAddress, timeout_s: float) -> None:
        with as_os_errors(pymysql.MySQLError):
            self._connection = server.connect(address, timeout_s)

    def ask(self, reply_bytes: int = 0) -> float:
        """Seconds until the text is complete."""
        began_s = time.monotonic()
        with as_os_errors(pymysql.MySQLError), self._connection.cursor() as cursor:
            cursor.execute("SELECT REPEAT('x', %s)", (reply_bytes,))
            cursor.fetchall()
        return time.monotonic() - began_s

    def close(self) -> None:
        """Close the connection; a broken one is already closed."""
        with suppress(pymysql.MySQLError):
            self._connection.close()


def read_url(url: str) -> MysqlAddress:
    """`mysql://user:password@host:port`."""
    parts = split_url(url, ("mysql", "mysql+pymysql"))
    user, password = unquote(parts.username or "root"), unquote(parts.password or "")
    return MysqlAddress(str(parts.hostname), parts.port or 3306, user, password, "")


def provision(address: MysqlAddress, namespace: str) -> MysqlAddress:
    """The database of the run, created empty."""
    own = replace(address, database=namespace)
    server.create_database(own)
    return own


DESCRIPTOR = ServiceDescriptor(
    name="mysql",
    address=MysqlAddress,
    server=server.MysqlServer,
    container=MysqlContainer,
    image="mariadb:11",
    read_url=read_url,
    missing=lambda address: server.missing(address),
    version=server.read_version,
    open_exchange=MysqlExchange,
    provision=provision,
    remove=lambda address, namespace: server.drop_database(replace(address, database=namespace)),
    contents=lambda address, _: read_contents(address),
    proxy_kinds=lambda address: ("proxy",),
)

"""MariaDB or MySQL: started in a directory of its own; SELECT is its round trip."""

import os
import secrets
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pymysql

from chaos import binaries
from chaos.deadline import Deadline
from chaos.errors import ServiceUnavailable
from chaos.hosting.warden_client import WardenClient
from chaos.ports import LOOPBACK, PortAllocator
from chaos.services.addresses import MysqlAddress, Services
from chaos.services.server import ROUND_TRIP_TIMEOUT_S, SingleProcessServer

USER = "tasklab"
STATEMENT_TIMEOUT_S = 30.0
ARGUMENTS = ("--skip-name-resolve", "--max-connections=500")
"""Arguments of the server, in every environment."""

SERVER_ARGUMENTS = (
    *ARGUMENTS,
    f"--bind-address={LOOPBACK}",
    "--socket=mysql.sock",  # relative to the data directory: an absolute path is cut off after 107 bytes
)


def missing(address: MysqlAddress, timeout_s: float = ROUND_TRIP_TIMEOUT_S) -> str:
    """Why the server does not answer a statement; "" if it does."""
    try:
        read_version(address, timeout_s)
    except pymysql.MySQLError as error:
        return f"no answer to SELECT at {address.host}:{address.port} ({error})"
    return ""


def read_version(address: MysqlAddress, timeout_s: float = ROUND_TRIP_TIMEOUT_S) -> str:
    """As the server reports it."""
    with closing(connect(address, timeout_s)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        (version,) = cursor.fetchone() or ("",)
    return str(version)


def create_database(address: MysqlAddress, timeout_s: float = STATEMENT_TIMEOUT_S) -> None:
    """Create the database named in `address`, empty; an existing one is dropped.

    Raises:
        ServiceUnavailable: the server does not answer, or the user lacks the right.
    """
    drop_database(address, timeout_s)
    _execute(address, f"CREATE DATABASE `{address.database}` CHARACTER SET utf8mb4", timeout_s)


def provide_database(address: MysqlAddress, services: Services) -> Services:
    """The services of a run with that address, its database empty; raises as `create_database`."""
    create_database(address)
    return replace(services, mysql=address)


def drop_database(address: MysqlAddress, timeout_s: float = STATEMENT_TIMEOUT_S) -> None:
    """Drop the database named in `address`. Idempotent; raises as `create_database`."""
    _execute(address, f"DROP DATABASE IF EXISTS `{address.database}`", timeout_s)


def _execute(address: MysqlAddress, statement: str, timeout_s: float) -> None:
    try:
        with closing(connect(address, timeout_s)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
    except pymysql.MySQLError as error:
        raise ServiceUnavailable("mysql", f"{statement} failed at {address.host}:{address.port}: {error}") from error


def connect(address: MysqlAddress, timeout_s: float) -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
    """A connection to the server, without a database; every step bounded by `timeout_s`."""
    return pymysql.connect(
        host=address.host,
        port=address.port,
        user=address.user,
        password=address.password,
        connect_timeout=max(1, round(timeout_s)),
        read_timeout=timeout_s,
        write_timeout=timeout_s,
    )


class MysqlServer(SingleProcessServer):
    """A MariaDB or MySQL server that the lab runs, with the distribution's default durability."""

    name = "mysql"
    ports_needed = 1

    def __init__(self, warden: WardenClient, directory: Path, allocator: PortAllocator) -> None:
        super().__init__(warden, directory, allocator)
        self._password = secrets.token_hex(12)
        # mysqld refuses to run as root without this. It must not change its user: it would not die with the warden.
        self._as_user = ["--user=root"] if os.geteuid() == 0 else []

    def address(self, database: str) -> MysqlAddress:
        """Its address, for a user with all rights."""
        return MysqlAddress(LOOPBACK, self.ports[0], USER, self._password, database)

    def provide(self, services: Services) -> Services:
        """The services of a run with its address, and an empty database."""
        return provide_database(self.address(services.namespace), services)

    def missing(self) -> str:
        """The problem, or "" when it answers a SELECT."""
        return missing(self.address(""))

    def version(self) -> str:
        """From SELECT VERSION()."""
        return read_version(self.address(""))

    def _prepare(self, deadline: Deadline) -> None:
        server = binaries.require(self.name, "mariadbd")
        # Relative to the working directory: the installation is a shell script that splits paths at spaces.
        data = "--datadir=./data"
        if binaries.is_mariadb(server):
            install = binaries.require(self.name, "mariadb-install-db")
            rights = "--auth-root-authentication-method=normal"
            argv = [str(install), "--no-defaults", rights, "--skip-test-db", data, *self._as_user]
        else:
            argv = [str(server), "--no-defaults", "--initialize-insecure", data, *self._as_user]
        log = self.directory / "install.log"
        # The script ignores --tmpdir; without this a killed installation would leave files in /tmp.
        env = {**os.environ, "TMPDIR": str(self.directory)}
        child = self._warden.spawn("mysql's installation", argv, log=log, env=env, cwd=self.directory)
        code = child.wait(deadline.remaining_s())
        if code != 0:
            how = f"still ran after {deadline.timeout_s:g} s" if code is None else f"ended with exit code {code}"
            raise ServiceUnavailable(self.name, f"{argv[0]} {how}", child.log_tail())
        self._first_statements.write_text(
            f"CREATE USER IF NOT EXISTS '{USER}'@'{LOOPBACK}' IDENTIFIED BY '{self._password}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO '{USER}'@'{LOOPBACK}' WITH GRANT OPTION;\n"
        )

    @property
    def _first_statements(self) -> Path:
        return self.directory / "first.sql"

    def _spawn(self) -> None:
        server = binaries.require(self.name, "mariadbd")
        own = [
            f"--datadir={self.directory / 'data'}",
            f"--tmpdir={self.directory}",
            f"--pid-file={self.directory / 'mysqld.pid'}",
            f"--init-file={self._first_statements}",
            f"--port={self.ports[0]}",
        ]
        argv = [str(server), "--no-defaults", *own, *SERVER_ARGUMENTS, *self._as_user]
        if not binaries.is_mariadb(server):
            argv.append("--mysqlx=OFF")  # else it listens on a second port, the same in every lab
        self._child = self._warden.spawn("mysqld", argv, log=self.directory / "mysqld.log", cwd=self.directory)

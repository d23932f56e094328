"""PostgreSQL: started in a directory of its own, as root under another user; SELECT is its round trip."""

import ctypes
import os
import pwd
import secrets
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from chaos import binaries
from chaos.deadline import Deadline
from chaos.errors import ProcessFailed, ServiceUnavailable
from chaos.hosting.warden_client import ChildProcess, WardenClient
from chaos.ports import LOOPBACK, PortAllocator
from chaos.services.addresses import PostgresqlAddress, Services
from chaos.services.postgresql import client
from chaos.services.server import SingleProcessServer

USER = "tasklab"
SYSTEM_USERS = ("postgres", "nobody")
"""The first of these that exists runs the server of a lab that runs as root: PostgreSQL refuses root."""
ARGUMENTS = ("-c", "max_connections=500")
"""Arguments of the server, in every environment."""

SERVER_ARGUMENTS = (
    *ARGUMENTS,
    *("-c", f"listen_addresses={LOOPBACK}"),
    *("-c", "unix_socket_directories="),  # none: the default is shared by all servers of the machine
    *("-c", "dynamic_shared_memory_type=mmap"),  # files in the data directory: others would outlive a kill
)
IPC_RMID = 0
PID_FILE_SEGMENT_LINE = 6


class PostgresqlServer(SingleProcessServer):
    """A PostgreSQL server that the lab runs, with its default durability."""

    name = "postgresql"
    ports_needed = 1

    def __init__(self, warden: WardenClient, directory: Path, allocator: PortAllocator) -> None:
        super().__init__(warden, directory, allocator)
        self._password = secrets.token_hex(12)
        self._namespace = ""
        self._user = _system_user() if os.geteuid() == 0 else None

    def address(self, database: str) -> PostgresqlAddress:
        """Its address, for a user with all rights."""
        return PostgresqlAddress(LOOPBACK, self.ports[0], USER, self._password, database)

    def provide(self, services: Services) -> Services:
        """The services of a run with its address, and an empty database; that of the run before is dropped."""
        client.replace_database(self.address(""), self._namespace, services.namespace)
        self._namespace = services.namespace
        return replace(services, postgresql=self.address(services.namespace))

    def missing(self) -> str:
        """The problem, or "" when it answers a SELECT."""
        return client.missing(self.address(""))

    def version(self) -> str:
        """As the server reports it."""
        return client.read_version(self.address(""))

    def await_ready(self, deadline: Deadline) -> None:
        """Wait until a round trip succeeds; see that its shared memory ends with its processes."""
        super().await_ready(deadline)
        _release_segment(self.directory / "data" / "postmaster.pid")

    def _prepare(self, deadline: Deadline) -> None:
        password = self.directory / "password"
        password.write_text(self._password)
        password.chmod(stat.S_IRUSR)
        if self._user is not None:
            self._open_directory(self._user, password)
        # No sync: it protects from a power failure during the installation only.
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        argv = [str(binaries.require(self.name, "initdb")), "--pgdata=./data", f"--username={USER}", *options]
        child = self._run([*argv, "--pwfile=./password"], "postgresql's installation", "install.log")
        code = child.wait(deadline.remaining_s())
        if code != 0:
            how = f"still ran after {deadline.timeout_s:g} s" if code is None else f"ended with exit code {code}"
            raise ServiceUnavailable(self.name, f"{argv[0]} {how}{self._out_of_reach()}", child.log_tail())

    def _open_directory(self, user: pwd.struct_passwd, password: Path) -> None:
        """Give the part of PostgreSQL to its user; of the lab's own directory, a way to it."""
        for path in (self.directory, password):
            os.chown(path, user.pw_uid, user.pw_gid)
        self.directory.chmod(stat.S_IRWXU)
        os.chown(self.directory.parent, -1, user.pw_gid)
        self.directory.parent.chmod(stat.S_IRWXU | stat.S_IXGRP)

    def _out_of_reach(self) -> str:
        """Which directory above the data keeps the other user out, as the end of a sentence; "" if none."""
        if self._user is None:
            return ""
        above = [path for path in self.directory.parents[1:] if not path.stat().st_mode & stat.S_IXOTH]
        return (
            f": its user {self._user.pw_name} cannot enter {above[0]}; set TMPDIR to another directory" if above else ""
        )

    def _spawn(self) -> None:
        own = ["-D", str(self.directory / "data"), "-p", str(self.ports[0])]
        argv = [str(binaries.require(self.name, "postgres")), *own, *SERVER_ARGUMENTS]
        self._child = self._run(argv, "postgres", "postgres.log")

    def _run(self, argv: list[str], name: str, log: str) -> ChildProcess:
        ids = (self._user.pw_uid, self._user.pw_gid) if self._user else None
        try:
            return self._warden.spawn(name, argv, log=self.directory / log, cwd=self.directory, user=ids)
        except ProcessFailed as error:
            raise ServiceUnavailable(self.name, f"{error}{self._out_of_reach()}") from error


def _system_user() -> pwd.struct_passwd:
    """The user in place of root.

    Raises:
        ServiceUnavailable: there is none.
    """
    for name in SYSTEM_USERS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServiceUnavailable(
        "postgresql", f"it refuses to run as root, and there is no user {' or '.join(SYSTEM_USERS)}"
    )


def _release_segment(pid_file: Path) -> None:
    """Mark the System V segment of a running server for removal with the last process that uses it.

    PostgreSQL removes it only at an orderly end, and its number on a machine is limited. Without the right to (root without
    CAP_SYS_ADMIN, in a container) it stays.
    """
    lines = pid_file.read_text().splitlines()
    if len(lines) > PID_FILE_SEGMENT_LINE and (numbers := lines[PID_FILE_SEGMENT_LINE].split()):
        ctypes.CDLL(None).shmctl(int(numbers[-1]), IPC_RMID, None)

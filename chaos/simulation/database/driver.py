"""A DB-API driver for the simulated database, with the errors of PyMySQL."""

import sqlite3
from collections.abc import Sequence
from typing import Any, NoReturn

from chaos.simulation.database.database import DEADLOCK, DatabaseServer, ResultSet, Session, SessionGone
from chaos.simulation.kernel.scheduler import Died
from chaos.simulation.network.network import Line, LineCut, Undone

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"
sqlite_version_info = sqlite3.sqlite_version_info

CANNOT_CONNECT, GONE_AWAY, LOST_DURING_QUERY, DUPLICATE_ENTRY, SYNTAX = 2003, 2006, 2013, 1062, 1064
LOST = (GONE_AWAY, LOST_DURING_QUERY)

_MESSAGES = {
    1205: "Lock wait timeout exceeded; try restarting transaction",
    1213: "Deadlock found when trying to get lock; try restarting transaction",
}


class Warning(Exception):  # noqa: A001 — the name that the DB-API gives it
    """Required by the DB-API; never raised here."""


class Error(Exception):
    """Base of all errors of this driver."""


class InterfaceError(Error):
    """The driver was misused."""


class DatabaseError(Error):
    """An error of the database."""


class DataError(DatabaseError):
    """A value was wrong."""


class OperationalError(DatabaseError):
    """The connection, or the server, failed; `args[0]` is the code of MySQL."""


class IntegrityError(DatabaseError):
    """A constraint was violated."""


class InternalError(DatabaseError):
    """The database is in a wrong state."""


class ProgrammingError(DatabaseError):
    """The statement was wrong."""


class NotSupportedError(DatabaseError):
    """The database cannot do this."""


Binary = bytes


class DatabaseConnection:
    """A connection of one process. Every call, creation included, may fail before or after it took effect at the server."""

    def __init__(self, server: DatabaseServer, line: Line, *, timeout_ns: int) -> None:
        self._server = server
        self._line = line
        self._timeout_ns = timeout_ns
        self._lost = False
        self._begun = False
        try:
            self.session: Session = line.ask("connect", server.open, timeout_ns=timeout_ns)
        except LineCut as cut:
            raise OperationalError(CANNOT_CONNECT, f"Can't connect to MySQL server ({cut.how})") from cut
        self._epoch = server.epoch

    def cursor(self) -> "Cursor":
        """A new cursor."""
        return Cursor(self)

    def execute(self, sql: str, parameters: Sequence[Any]) -> ResultSet:
        """Execute one statement: one round trip."""
        server, session = self._server, self.session
        statement = server.tables.parse(sql)
        self._begun = True
        try:
            answer: ResultSet = self._ask(
                statement.label, lambda: server.execute(session, statement, parameters), (sql, parameters)
            )
            return answer
        except Undone as undone:
            if undone.code == DEADLOCK:
                server.roll_back(session)
            raise OperationalError(undone.code, _MESSAGES[undone.code]) from undone
        except sqlite3.IntegrityError as error:
            raise IntegrityError(DUPLICATE_ENTRY, str(error)) from error
        except sqlite3.Error as error:
            raise ProgrammingError(SYNTAX, str(error)) from error

    def commit(self) -> None:
        """Commit the transaction; without one, send nothing."""
        if not self._begun:
            return
        server, session = self._server, self.session
        try:
            self._ask("commit", lambda: server.commit(session), is_commit=True)
        except Undone as undone:
            server.roll_back(session)
            raise OperationalError(undone.code, _MESSAGES[undone.code]) from undone
        self._begun = False

    def rollback(self) -> None:
        """Roll back the transaction; without one, or from a dead process, send nothing."""
        if not self._begun or self._lost or self._is_dead():
            return
        server, session = self._server, self.session
        self._begun = False
        self._ask("rollback", lambda: server.roll_back(session))

    def close(self) -> None:
        """Close the connection; those of a dead process are closed by `World.kill`."""
        if not self._lost and not self._is_dead():
            self.disconnect()

    def _ask(self, what: str, act: Any, payload: Sequence[Any] = (), *, is_commit: bool = False) -> Any:
        if self._lost:
            raise OperationalError(GONE_AWAY, "MySQL server has gone away")
        try:
            return self._line.ask(what, act, timeout_ns=self._timeout_ns, connected_epoch=self._epoch, payload=payload)
        except SessionGone as gone:
            self._lose(GONE_AWAY, gone)
        except LineCut as cut:
            if is_commit and cut.how == "unsent" and cut.held_up:
                # The kernel already has the packet, before the disconnect: it arrives when the line is open again.
                self._line.arrive(self._commit_late)
            self.disconnect()
            self._lose(GONE_AWAY if cut.how == "refused" else LOST_DURING_QUERY, cut)

    def _lose(self, code: int, why: Exception) -> NoReturn:
        self._lost = True
        text = "MySQL server has gone away" if code == GONE_AWAY else "Lost connection to MySQL server during query"
        raise OperationalError(code, text) from why

    def _commit_late(self) -> None:
        if self.session.is_open:
            self._server.commit(self.session)

    def disconnect(self) -> None:
        """End the connection; the server rolls back the open transaction when that arrives."""
        self._lost = True
        self._line.arrive(lambda: self._server.close(self.session), is_data=False)

    def _is_dead(self) -> bool:
        try:
            self._line.network.scheduler.check_alive()
        except Died:
            return True
        return False


class Cursor:
    """One statement and its rows."""

    def __init__(self, connection: "DatabaseConnection | ReadingConnection") -> None:
        self._connection = connection
        self._rows: list[tuple[Any, ...]] = []
        self._next = 0
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = -1
        self.lastrowid: int | None = None
        self.arraysize = 1

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Execute one statement and keep its rows."""
        answer = self._connection.execute(sql, parameters)
        self._rows = list(answer.rows)
        self._next = 0
        self.rowcount = answer.rowcount
        self.lastrowid = answer.last_id
        self.description = [(name, None, None, None, None, None, None) for name in answer.columns] or None

    def executemany(self, sql: str, parameters: Sequence[Sequence[Any]]) -> None:
        """Execute the statement once for each parameter set."""
        count = 0
        for one in parameters:
            self.execute(sql, one)
            count += self.rowcount
        self.rowcount = count

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        if self._next >= len(self._rows):
            return None
        self._next += 1
        return self._rows[self._next - 1]

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows."""
        first = self._next
        self._next = min(len(self._rows), first + (size or self.arraysize))
        return self._rows[first : self._next]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All remaining rows."""
        first, self._next = self._next, len(self._rows)
        return self._rows[first:]

    def close(self) -> None:
        """Nothing to release."""

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Without effect."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Without effect."""


class ReadingConnection:
    """For the lab itself: reads committed rows, without a line and in no time."""

    def __init__(self, server: DatabaseServer) -> None:
        self._server = server

    def cursor(self) -> Cursor:
        """A new cursor."""
        return Cursor(self)

    def execute(self, sql: str, parameters: Sequence[Any]) -> ResultSet:
        """Execute one query."""
        return self._server.read_committed(sql, parameters)

    def commit(self) -> None:
        """Without effect."""

    def rollback(self) -> None:
        """Without effect."""

    def close(self) -> None:
        """Without effect."""

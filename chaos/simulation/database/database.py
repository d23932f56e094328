"""A database server with concurrent transactions, on one SQLite database: row locks, READ COMMITTED, deadlocks.

SQLite allows one writer at a time, so the writes of a transaction are kept here as images of rows. While it executes a statement, its
images replace the committed rows ("mounted"); they are removed before a statement of another transaction. So each statement sees the
rows that InnoDB would show under READ COMMITTED: everything committed by then, and its own writes. The rows that it writes are known
after SQLite has executed it; if another transaction has locked one of them, the statement is undone, waits in the scheduler for that
transaction to end, and is executed again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chaos.simulation.database.statements import Statement, Tables
from chaos.simulation.kernel.scheduler import Scheduler, Waiters
from chaos.simulation.network.network import Service, Undone

LOCK_WAIT_TIMEOUT, DEADLOCK = 1205, 1213

Key = tuple[object, ...]
"""Identifies a row or a lock."""


class SessionGone(Exception):
    """The server has closed the session."""


@dataclass(slots=True, eq=False)
class Session:
    """The server's side of a connection, with its transaction: images of written rows (None: deleted), and its locks."""

    images: dict[Key, tuple[Any, ...] | None] = field(default_factory=dict)
    locks: list[Key] = field(default_factory=list)
    waits_for: "Session | None" = None
    blocks: "list[Session]" = field(default_factory=list)
    wake_up: Waiters = field(default_factory=list)
    is_victim: bool = False
    is_open: bool = True


class ResultSet(NamedTuple):
    """The result of a statement; `rowcount`: rows returned, or matched by a write."""

    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]
    rowcount: int
    last_id: int | None = None


class DatabaseServer(Service):
    """MySQL's behaviour with SQLite's SQL. Everything takes effect at once, except `execute`, which may wait for a lock.

    `epoch_us`: its wall clock at the start of the world. `lock_wait_ns`: how long a statement waits for a lock before error 1205.
    """

    def __init__(self, scheduler: Scheduler, tables: Tables, *, epoch_us: int, lock_wait_ns: int) -> None:
        super().__init__("mysql")
        self.tables = tables
        self.commits = 0
        self._scheduler = scheduler
        self._epoch_us = epoch_us
        self._lock_wait_ns = lock_wait_ns
        self._locks: dict[Key, Session] = {}
        self._sessions: list[Session] = []
        self._mounted: Session | None = None
        tables.empty()

    def open(self) -> Session:
        """A new session."""
        session = Session()
        self._sessions.append(session)
        return session

    def execute(self, session: Session, statement: Statement, parameters: Sequence[Any]) -> ResultSet:
        """Execute a statement in the session's transaction; if another transaction has locked one of its rows, wait for that transaction.

        Raises:
            SessionGone: the session is closed, perhaps during the wait.
            Undone: 1205 (this statement is undone, its transaction goes on) or 1213 (its transaction is undone).
            sqlite3.Error: SQLite refused the statement.
        """
        began_us = self._epoch_us + self._scheduler.now_ns // 1000
        deadline_ns = self._scheduler.now_ns + self._lock_wait_ns
        while True:
            if not session.is_open:
                raise SessionGone
            self.tables.now_us = began_us
            if statement.kind == "select":
                answer, locks = self._select(session, statement, parameters)
                images: dict[Key, tuple[Any, ...] | None] = {}
            else:
                answer, locks, images = self._write(session, statement, parameters)
            holder = self._other_holder(session, locks)
            if holder is None:
                self._lock(session, locks)
                session.images.update(images)
                return answer
            if images:
                self._dismount()  # undoes this statement only: earlier writes of the transaction are in its images
            self._await(session, holder, deadline_ns)

    def commit(self, session: Session) -> None:
        """Make the session's writes visible to all.

        Raises:
            SessionGone: it is closed, and its transaction rolled back.
        """
        if not session.is_open:
            raise SessionGone
        if session.images:
            self._mount(session)
            self.tables.sqlite.execute("COMMIT")
            self._mounted = None
            self.commits += 1
        self._end_transaction(session)

    def roll_back(self, session: Session) -> None:
        """Discard the session's writes."""
        if self._mounted is session:
            self._dismount()
        self._end_transaction(session)

    def close(self, session: Session) -> None:
        """End the session, as after the loss of its connection: its transaction is rolled back. Idempotent."""
        if session.is_open:
            session.is_open = False
            self.roll_back(session)
            self._sessions.remove(session)
            self._scheduler.wake(session.wake_up)

    def kill(self) -> None:
        """Every session ends; committed rows stay."""
        super().kill()
        for session in list(self._sessions):
            self.close(session)

    def read_committed(self, sql: str, parameters: Sequence[Any] = ()) -> ResultSet:
        """Read the rows committed at this moment, for the lab itself."""
        self._dismount()
        self.tables.now_us = self._epoch_us + self._scheduler.now_ns // 1000
        cursor = self.tables.sqlite.execute(sql, parameters)
        rows = cursor.fetchall()
        return ResultSet([column[0] for column in cursor.description], rows, len(rows))

    def _select(
        self, session: Session, statement: Statement, parameters: Sequence[Any]
    ) -> tuple[ResultSet, Sequence[Key]]:
        if session.images:
            self._mount(session)
        elif self._mounted is not session:
            self._dismount()
        cursor = self.tables.sqlite.execute(statement.sql, parameters)
        rows = cursor.fetchall()
        selected = self.tables.selected(statement, cursor.description)
        key = selected.lock
        if key is None:
            return ResultSet(selected.columns, rows, len(rows)), ()
        locks = [(statement.table, key.name, *[row[position] for position in key.positions]) for row in rows]
        if statement.locking == "skip":
            free = [self._locks.get(lock, session) is session for lock in locks]
            rows = [row for row, is_free in zip(rows, free, strict=True) if is_free]
            locks = [lock for lock, is_free in zip(locks, free, strict=True) if is_free]
        return ResultSet(selected.columns, rows, len(rows)), locks

    def _write(
        self, session: Session, statement: Statement, parameters: Sequence[Any]
    ) -> tuple[ResultSet, Sequence[Key], dict[Key, tuple[Any, ...] | None]]:
        tables, table = self.tables, statement.table
        self._mount(session)
        rows = tables.sqlite.execute(statement.sql, parameters).fetchall()
        deleted = statement.kind == "delete"
        images = {tables.row_key(table, row): None if deleted else row for row in rows}
        locks = [lock for row in rows for lock in tables.lock_keys(table, row)]
        last_id = tables.generated_id(table, rows[-1]) if rows and statement.kind == "insert" else None
        return ResultSet((), (), len(rows), last_id), locks, images

    def _mount(self, session: Session) -> None:
        if self._mounted is not session:
            self._dismount()
            self.tables.sqlite.execute("BEGIN")
            for key, image in session.images.items():
                self.tables.put(key, image)
            self._mounted = session

    def _dismount(self) -> None:
        if self._mounted is not None:
            self._mounted = None
            self.tables.sqlite.execute("ROLLBACK")

    def _other_holder(self, session: Session, locks: Iterable[Key]) -> Session | None:
        for lock in locks:
            holder = self._locks.get(lock)
            if holder is not None and holder is not session:
                return holder
        return None

    def _lock(self, session: Session, locks: Iterable[Key]) -> None:
        for lock in locks:
            if lock not in self._locks:
                self._locks[lock] = session
                session.locks.append(lock)

    def _await(self, session: Session, holder: Session, deadline_ns: int) -> None:
        session.waits_for = holder
        holder.blocks.append(session)
        try:
            if self._is_deadlocked(session):
                self._resolve_deadlock(session, holder)
            else:
                left_ns = deadline_ns - self._scheduler.now_ns
                if left_ns <= 0 or not self._scheduler.wait(session.wake_up, left_ns):
                    raise Undone(LOCK_WAIT_TIMEOUT)
            if session.is_victim:
                session.is_victim = False
                raise Undone(DEADLOCK)
        finally:
            session.waits_for = None
            if session in holder.blocks:
                holder.blocks.remove(session)

    def _is_deadlocked(self, session: Session) -> bool:
        other = session.waits_for
        while other is not None and other is not session:
            other = other.waits_for
        return other is session

    def _resolve_deadlock(self, session: Session, holder: Session) -> None:
        """As InnoDB does: roll back the session that has written less; of two equals, the one that began to wait last."""
        victim = holder if len(holder.images) < len(session.images) else session
        victim.is_victim = True
        self.roll_back(victim)
        self._scheduler.wake(victim.wake_up)

    def _end_transaction(self, session: Session) -> None:
        session.images.clear()
        for lock in session.locks:
            del self._locks[lock]
        session.locks.clear()
        blocked, session.blocks = session.blocks, []
        for other in blocked:
            self._scheduler.wake(other.wake_up)

"""The tables of the office, and a transaction on its file."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, payload TEXT NOT NULL, user TEXT, key TEXT,
    state TEXT NOT NULL, attempts INT DEFAULT 0, fence INT DEFAULT 0, owner TEXT, lease_until REAL,
    available REAL NOT NULL, deadline REAL, order_key TEXT, priority INT DEFAULT 0, scope TEXT, overtaken INT DEFAULT 0,
    parent INT, after_parent INT DEFAULT 0, percent INT, result TEXT
);
CREATE INDEX IF NOT EXISTS by_state ON tasks (state, available);
CREATE INDEX IF NOT EXISTS by_key ON tasks (user, key);
CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY AUTOINCREMENT, at_ns INT NOT NULL, event TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS admissions (user TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS starts (scope TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS pauses (scope TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS schedules (
    name TEXT PRIMARY KEY, payload TEXT NOT NULL, every_s REAL, number INT DEFAULT 1, times INT, due REAL
);
CREATE TABLE IF NOT EXISTS lock (id INTEGER PRIMARY KEY, holder TEXT, fence INT, until REAL);
INSERT OR IGNORE INTO lock VALUES (1, '', 0, 0);
"""
BUSY_S = 10.0


class Transaction:
    """A transaction that excludes every other writer. `now`: the instant at which it began, in seconds since the epoch."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.at_ns = time.time_ns()
        self.now = self.at_ns / 1e9

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Every row of the answer."""
        return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, *values: Any) -> sqlite3.Row | None:
        """The first row of the answer, if there is one."""
        found: sqlite3.Row | None = self._connection.execute(sql, values).fetchone()
        return found

    def change(self, sql: str, *values: Any) -> int:
        """The number of rows that were changed."""
        return self._connection.execute(sql, values).rowcount

    def insert(self, table: str, **values: Any) -> int:
        """The id of a new row."""
        sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"  # noqa: S608  our own names
        added = self._connection.execute(sql, tuple(values.values())).lastrowid
        assert added is not None, "an insert has a row"
        return added

    def record(self, event: str, **fields: Any) -> None:
        """Keep an event of the audit trail, true if and only if this transaction is."""
        told = {name: value for name, value in fields.items() if value is not None}
        self.insert("records", at_ns=self.at_ns, event=json.dumps({"event": event, **told}))


class File:
    """The office's file, opened by one thread."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(SCHEMA)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction; what raises in it leaves nothing behind."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield Transaction(self._connection)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

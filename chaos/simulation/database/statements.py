"""Parsed SQL statements and table schemas, for row locks: which rows a statement writes, and their keys."""

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import MetaData
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

Kind = Literal["select", "insert", "update", "delete"]
Locking = Literal["", "wait", "skip"]

FOR_UPDATE = " /* FOR UPDATE */"
FOR_UPDATE_SKIP_LOCKED = " /* FOR UPDATE SKIP LOCKED */"
"""SQLite has no locking reads; the dialect leaves these comments for the server."""

_FORM = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b\s*\"?(\w+)?\"?", re.IGNORECASE)
_SOURCE = re.compile(r"\bFROM\s+\"?(\w+)\"?", re.IGNORECASE)
_CACHED_STATEMENTS = 512


@dataclass(frozen=True, slots=True)
class Statement:
    """An SQL text with its kind and table; `sql` also returns every row that it writes."""

    sql: str
    kind: Kind
    table: str
    locking: Locking
    label: str
    """For traces."""


@dataclass(frozen=True, slots=True)
class _Index:
    """A unique key: its name, and the positions of its columns in a row."""

    name: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Selected:
    """The columns that a select returns, and, if it locks, the positions of the primary key in them."""

    columns: tuple[str, ...]
    lock: _Index | None


class Tables:
    """The schema in one in-memory SQLite database, reused by one world after another, so that prepared statements stay prepared."""

    def __init__(self, metadata: MetaData, dialect: Dialect) -> None:
        self.now_us = 0
        self.sqlite = sqlite3.connect(":memory:", isolation_level=None, cached_statements=_CACHED_STATEMENTS)
        # The time of a statement is one instant, so SQLite may call this once for all rows.
        self.sqlite.create_function("now_us", 0, lambda: self.now_us, deterministic=True)
        self.sqlite.create_function("next_id", 1, self._next_id)
        self._last_ids: dict[str, int] = {}
        self._indexes: dict[str, tuple[_Index, ...]] = {}
        self._columns: dict[str, tuple[str, ...]] = {}
        self._generated: dict[str, int | None] = {}
        self._parsed: dict[str, Statement] = {}
        self._selected: dict[str, Selected] = {}
        self._put: dict[str, tuple[str, str]] = {}
        for table in metadata.sorted_tables:
            self.sqlite.execute(str(CreateTable(table).compile(dialect=dialect)))
            for index in sorted(table.indexes, key=lambda index: str(index.name)):
                self.sqlite.execute(str(CreateIndex(index).compile(dialect=dialect)))
            generated = table.autoincrement_column
            self._columns[table.name] = tuple(column.name for column in table.columns)
            self._generated[table.name] = None if generated is None else list(table.columns).index(generated)
            self._indexes[table.name] = self._unique_keys(table.name)
            self._put[table.name] = self._put_texts(table.name)

    def empty(self) -> None:
        """Delete all rows and restart auto-increment at 1, for the next world."""
        if self.sqlite.in_transaction:
            self.sqlite.execute("ROLLBACK")
        for name in self._columns:
            self.sqlite.execute(f'DELETE FROM "{name}"')  # noqa: S608 — the lab's own table name
        self._last_ids.clear()

    def parse(self, sql: str) -> Statement:
        """The parsed statement; cached by text."""
        statement = self._parsed.get(sql)
        if statement is None:
            statement = self._parsed[sql] = _parse(sql)
        return statement

    def row_key(self, table: str, row: Sequence[Any]) -> tuple[object, ...]:
        """The identity of a row: its table and primary key."""
        return (table, *(row[position] for position in self._indexes[table][0].positions))

    def lock_keys(self, table: str, row: Sequence[Any]) -> list[tuple[object, ...]]:
        """The locks of a row: its primary key and every other unique key."""
        keys = []
        for index in self._indexes[table]:
            values = [row[position] for position in index.positions]
            if None not in values:
                keys.append((table, index.name, *values))
        return keys

    def selected(self, statement: Statement, description: Sequence[Sequence[Any]]) -> "Selected":
        """What a select returns, from its first cursor's description; cached by text."""
        selected = self._selected.get(statement.sql)
        if selected is None:
            columns = tuple(column[0] for column in description)
            lock = self._lock_of_selected(statement.table, columns) if statement.locking else None
            selected = self._selected[statement.sql] = Selected(columns, lock)
        return selected

    def generated_id(self, table: str, row: Sequence[Any]) -> int | None:
        """The row's auto-increment id, or None if the table has none."""
        position = self._generated[table]
        return None if position is None else int(row[position])

    def put(self, key: tuple[object, ...], image: Sequence[Any] | None) -> None:
        """Set the row to this image; None: delete it."""
        delete, replace = self._put[str(key[0])]
        if image is None:
            self.sqlite.execute(delete, key[1:])
        else:
            self.sqlite.execute(replace, image)

    def _next_id(self, table: str) -> int:
        """As in InnoDB, an insert takes a number even if its transaction is rolled back: numbers have gaps, and commit out of order."""
        number = self._last_ids.get(table, 0) + 1
        self._last_ids[table] = number
        return number

    def _put_texts(self, table: str) -> tuple[str, str]:
        """SQL to delete a row by its primary key, and to insert or replace one."""
        names = self._columns[table]
        where = " AND ".join(f'"{names[position]}" = ?' for position in self._indexes[table][0].positions)
        marks = ", ".join("?" * len(names))
        # The names are the lab's own.
        return f'DELETE FROM "{table}" WHERE {where}', f'INSERT OR REPLACE INTO "{table}" VALUES ({marks})'  # noqa: S608

    def _lock_of_selected(self, table: str, columns: Sequence[str]) -> "_Index":
        index = self._indexes[table][0]
        names = [self._columns[table][position] for position in index.positions]
        assert set(names) <= set(columns), f"a locking read of {table} must select its primary key"
        return _Index(index.name, tuple(columns.index(name) for name in names))

    def _unique_keys(self, table: str) -> tuple[_Index, ...]:
        info = self.sqlite.execute(f'PRAGMA table_info("{table}")').fetchall()
        primary = _Index("PRIMARY", tuple(row[0] for row in sorted(info, key=lambda row: row[5]) if row[5]))
        position_of = {row[1]: row[0] for row in info}
        others = []
        for _, name, unique, origin, _ in self.sqlite.execute(f'PRAGMA index_list("{table}")').fetchall():
            if unique and origin != "pk":
                columns = self.sqlite.execute(f'PRAGMA index_info("{name}")').fetchall()
                others.append(_Index(name, tuple(position_of[column[2]] for column in columns)))
        return (primary, *sorted(others, key=lambda index: index.name))


def _parse(sql: str) -> Statement:
    form = _FORM.match(sql)
    if form is None:
        raise ValueError(f"the simulated database does not support this kind of statement: {sql[:80]!r}")
    kind: Kind = form.group(1).split()[0].lower()  # type: ignore[assignment]
    if kind == "select":
        source = _SOURCE.search(sql)
        locking: Locking = "skip" if FOR_UPDATE_SKIP_LOCKED in sql else "wait" if FOR_UPDATE in sql else ""
        table = source.group(1) if source else ""
        return Statement(sql, kind, table, locking, f"{kind} {table}")
    assert " RETURNING " not in sql, "MySQL has no RETURNING"
    table = form.group(2)
    return Statement(f"{sql} RETURNING *", kind, table, "", f"{kind} {table}")

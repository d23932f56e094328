"""What a database server has to know of SQL texts and tables before it can lock rows: which rows a statement writes, and their keys."""

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
"""SQLite has no locking reads; the dialect leaves these words for the server."""

_FORM = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b\s*\"?(\w+)?\"?", re.IGNORECASE)
_SOURCE = re.compile(r"\bFROM\s+\"?(\w+)\"?", re.IGNORECASE)
_CACHED_STATEMENTS = 512


@dataclass(frozen=True, slots=True)
class Statement:
    """An SQL text with its kind and its table; `sql` also returns every row that it writes."""

    sql: str
    kind: Kind
    table: str
    locking: Locking
    words: str
    """For traces."""


@dataclass(frozen=True, slots=True)
class _Index:
    """A key that no two rows share: its name and where in a row its values are."""

    name: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Selected:
    """The columns that a select returns, and, where it locks, where in them the primary key is."""

    columns: tuple[str, ...]
    lock: _Index | None


class Tables:
    """The schema on one SQLite database in memory, used by one world after the other, so that prepared statements stay prepared."""

    def __init__(self, metadata: MetaData, dialect: Dialect) -> None:
        self.now_us = 0
        self.sqlite = sqlite3.connect(":memory:", isolation_level=None, cached_statements=_CACHED_STATEMENTS)
        # The time of a statement is one instant, so SQLite need not ask for it again for every row.
        self.sqlite.create_function("now_us", 0, lambda: self.now_us, deterministic=True)
        self.sqlite.create_function("next_id", 1, self._next_id)
        self._last_ids: dict[str, int] = {}
        self._indexes: dict[str, tuple[_Index, ...]] = {}
        self._columns: dict[str, tuple[str, ...]] = {}
        self._counted: dict[str, int | None] = {}
        self._parsed: dict[str, Statement] = {}
        self._selected: dict[str, Selected] = {}
        self._put: dict[str, tuple[str, str]] = {}
        for table in metadata.sorted_tables:
            self.sqlite.execute(str(CreateTable(table).compile(dialect=dialect)))
            for index in sorted(table.indexes, key=lambda index: str(index.name)):
                self.sqlite.execute(str(CreateIndex(index).compile(dialect=dialect)))
            counted = table.autoincrement_column
            self._columns[table.name] = tuple(column.name for column in table.columns)
            self._counted[table.name] = None if counted is None else list(table.columns).index(counted)
            self._indexes[table.name] = self._unique_keys(table.name)
            self._put[table.name] = self._put_texts(table.name)

    def empty(self) -> None:
        """No rows, and numbers from 1 again: for the next world."""
        if self.sqlite.in_transaction:
            self.sqlite.execute("ROLLBACK")
        for name in self._columns:
            self.sqlite.execute(f'DELETE FROM "{name}"')  # noqa: S608 — a name of ours
        self._last_ids.clear()

    def parse(self, sql: str) -> Statement:
        """What the text does; worked out once a text."""
        statement = self._parsed.get(sql)
        if statement is None:
            statement = self._parsed[sql] = _parse(sql)
        return statement

    def row_key(self, table: str, row: Sequence[Any]) -> tuple[object, ...]:
        """Which row of the table this is: by its primary key."""
        return (table, *(row[position] for position in self._indexes[table][0].positions))

    def lock_keys(self, table: str, row: Sequence[Any]) -> list[tuple[object, ...]]:
        """The locks of a row: its primary key, and every other key that no two rows may share."""
        keys = []
        for index in self._indexes[table]:
            values = [row[position] for position in index.positions]
            if None not in values:
                keys.append((table, index.name, *values))
        return keys

    def selected(self, statement: Statement, description: Sequence[Sequence[Any]]) -> "Selected":
        """What a select returns, as its first cursor describes it; worked out once a text."""
        selected = self._selected.get(statement.sql)
        if selected is None:
            columns = tuple(column[0] for column in description)
            lock = self._lock_of_selected(statement.table, columns) if statement.locking else None
            selected = self._selected[statement.sql] = Selected(columns, lock)
        return selected

    def counted_id(self, table: str, row: Sequence[Any]) -> int | None:
        """The number that the server gave the row, where it numbers rows."""
        position = self._counted[table]
        return None if position is None else int(row[position])

    def put(self, key: tuple[object, ...], image: Sequence[Any] | None) -> None:
        """Have the row look like this; None: not be there."""
        delete, replace = self._put[str(key[0])]
        if image is None:
            self.sqlite.execute(delete, key[1:])
        else:
            self.sqlite.execute(replace, image)

    def _next_id(self, table: str) -> int:
        """InnoDB counts up at the insert, whatever becomes of its transaction: numbers have gaps, and commit out of order."""
        number = self._last_ids.get(table, 0) + 1
        self._last_ids[table] = number
        return number

    def _put_texts(self, table: str) -> tuple[str, str]:
        """To delete a row by its primary key, and to put one in place of it."""
        names = self._columns[table]
        where = " AND ".join(f'"{names[position]}" = ?' for position in self._indexes[table][0].positions)
        marks = ", ".join("?" * len(names))
        # The names are of ours.
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
        raise ValueError(f"the simulated database does not know this kind of statement: {sql[:80]!r}")
    kind: Kind = form.group(1).split()[0].lower()  # type: ignore[assignment]
    if kind == "select":
        source = _SOURCE.search(sql)
        locking: Locking = "skip" if FOR_UPDATE_SKIP_LOCKED in sql else "wait" if FOR_UPDATE in sql else ""
        table = source.group(1) if source else ""
        return Statement(sql, kind, table, locking, f"{kind} {table}")
    assert " RETURNING " not in sql, "MySQL knows no RETURNING"
    table = form.group(2)
    return Statement(f"{sql} RETURNING *", kind, table, "", f"{kind} {table}")

"""Acme's task queue: one SQLite file, opened by each process separately. It knows nothing of the lab."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS waiting (id INTEGER PRIMARY KEY AUTOINCREMENT, payload TEXT NOT NULL, tries INT DEFAULT 0);
CREATE TABLE IF NOT EXISTS ended (id INTEGER PRIMARY KEY, payload TEXT NOT NULL, state TEXT NOT NULL);
"""
TAKE = "DELETE FROM waiting WHERE id = (SELECT min(id) FROM waiting) RETURNING id, payload, tries + 1"


@dataclass(frozen=True, slots=True)
class Task:
    """A task that a worker has taken; `tries` counts from 1."""

    id: int
    payload: Mapping[str, Any]
    tries: int


class Queue:
    """The queue in `file`."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, timeout=10)
        self._connection.executescript(SCHEMA)

    def put(self, payload: Mapping[str, Any]) -> int:
        """Add a task; its id."""
        with self._connection as transaction:
            added = transaction.execute("INSERT INTO waiting (payload) VALUES (?)", (json.dumps(payload),))
        assert added.lastrowid is not None, "an insert has a row"
        return added.lastrowid

    def take(self) -> Task | None:
        """The oldest task, or None."""
        with self._connection as transaction:
            row = transaction.execute(TAKE).fetchone()
        return None if row is None else Task(row[0], json.loads(row[1]), row[2])

    def put_back(self, task: Task) -> None:
        """Return a task to the queue, for another try."""
        row = (task.id, json.dumps(task.payload), task.tries)
        with self._connection as transaction:
            transaction.execute("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?)", row)

    def end(self, task: Task, state: str) -> None:
        """Record how a task ended: `done` or `dead`."""
        row = (task.id, json.dumps(task.payload), state)
        with self._connection as transaction:
            transaction.execute("INSERT INTO ended VALUES (?, ?, ?)", row)

    def payloads(self, state: str) -> list[dict[str, Any]]:
        """The payloads of all tasks in a state: `waiting`, `done` or `dead`."""
        if state == "waiting":
            rows = self._connection.execute("SELECT payload FROM waiting")
        else:
            rows = self._connection.execute("SELECT payload FROM ended WHERE state = ?", (state,))
        return [json.loads(payload) for (payload,) in rows]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

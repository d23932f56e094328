"""The file of the small systems (small_systems.py), and what their workers (small_worker.py) and clients both know."""

import sqlite3
from pathlib import Path

TRIES_MAX = 4
LEASE_S = 1.5
EVERY = 10
"""What would break everything is done to every so many tasks."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY, name TEXT, payload TEXT, state TEXT, tries INT DEFAULT 0, owner TEXT, since REAL
)
"""


def opened(file: Path) -> sqlite3.Connection:
    """The tasks in this file."""
    connection = sqlite3.connect(file, timeout=10, isolation_level=None)
    connection.execute(SCHEMA)
    return connection

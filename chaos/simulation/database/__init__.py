"""The simulated database: SQLite behind a driver that waits in the scheduler."""

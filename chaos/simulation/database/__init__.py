"""The simulated database: SQLite behind a driver whose waits are the scheduler's."""

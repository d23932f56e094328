"""What the leader does: rescues tasks whose worker is silent, closes those that are too late, makes the occurrences of schedules."""

import json

from office.schema import Transaction
from office.store import ATTEMPTS_MAX, LOCK_S, Store


class Leadership:
    """The leader's part of the office. Every sweep is one transaction in which the lock is still held."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def acquire(self, holder: str) -> int | None:
        """The fence of the lock, which this process now holds, or held already; None: another one does."""
        with self.store.file.writing() as tx:
            lock = tx.row("SELECT * FROM lock")
            assert lock is not None, "there is one lock"
            mine = lock["holder"] == holder and lock["until"] > tx.now
            if not mine and not self.is_free(tx, lock["until"]):
                return None
            fence = int(lock["fence"]) + (not mine)
            tx.change("UPDATE lock SET holder = ?, fence = ?, until = ?", holder, fence, tx.now + LOCK_S)
            return fence

    def is_free(self, tx: Transaction, until: float) -> bool:
        """Whether a lock that is held until then can be taken."""
        return tx.now >= until

    def sweep(self, fence: int) -> None:
        """Everything that is due by the clock, unless another one leads by now."""
        with self.store.file.writing() as tx:
            if tx.row("SELECT 1 FROM lock WHERE fence = ? AND until > ?", fence, tx.now) is None:
                return
            self.rescue(tx)
            self.store.expire(tx)
            self.make_occurrences(tx)

    def rescue(self, tx: Transaction) -> None:
        """Tasks whose lease has run out: their worker died, or was paused."""
        since = tx.now - self.rescued_after_s()
        for row in tx.rows("SELECT * FROM tasks WHERE state = 'RUNNING' AND lease_until <= ?", since):
            if row["attempts"] >= ATTEMPTS_MAX:
                self.store.bury(tx, row, "poison")
            else:
                self.store.move(tx, row, "RETRYING", available=tx.now, **self.after_rescue(row["attempts"]))

    def rescued_after_s(self) -> float:
        """How long after the end of its lease a task is rescued."""
        return 0.0

    def after_rescue(self, attempts: int) -> dict[str, int]:
        """What else changes in the row of a task that is rescued: nothing; the attempt that killed its worker was one."""
        return {}

    def make_occurrences(self, tx: Transaction) -> None:
        """Every occurrence that is due, those that were missed meanwhile, too."""
        while rows := tx.rows("SELECT * FROM schedules WHERE due <= ? AND number <= times ORDER BY due", tx.now):
            for row in rows:
                name = f"{row['name']}#{row['number']}"
                self.make_occurrence(tx, row["name"], name, row["due"], json.loads(row["payload"]))
                tx.change("UPDATE schedules SET number = number + 1, due = due + every_s WHERE name = ?", row["name"])

    def make_occurrence(
        self, tx: Transaction, schedule: str, name: str, due: float, payload: dict[str, object]
    ) -> None:
        """One."""
        tx.record("spawn", actor="office", task=name, schedule=schedule, due_s=due)
        self.store.insert(tx, {**payload, "task": name}, available=tx.now)

"""The office itself: what clients, workers and the leader do, each in one transaction. It knows nothing of the lab."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from office.schema import File, Transaction

ATTEMPTS_MAX = 3
DELAYS_S = ((0.2, 0.4), (0.4, 0.8))
LEASE_S = 1.0
LOCK_S = 1.0
NEW_TASKS = (12, 1.0)
"""So many submissions of one user within so many seconds."""
STARTS = (6, 0.4)
"""So many starts of one scope within so many seconds; what starts is seen later than it is claimed, by `STARTED_WITHIN_S` at most."""
STARTED_WITHIN_S = 0.2
OVERTAKES_MAX = 8
FINAL = ("SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED")
NEVER = 1e12


class Denied(Exception):
    """The user has submitted too much within the last second."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A task in the hands of a worker. `fence` grows with every claim of it."""

    id: int
    name: str
    payload: Mapping[str, Any]
    attempt: int
    fence: int


class Store:
    """The tasks in `path`."""

    lease_s = LEASE_S

    def __init__(self, path: Path) -> None:
        self.file = File(path)

    # What clients do.

    def submit(
        self,
        payload: Mapping[str, Any],
        *,
        user: str,
        key: str | None,
        due_s: float | None = None,
        deadline_s: float | None = None,
        **named: Any,
    ) -> str:
        """Take a task in, or find the one of this user and key; its id. `named`: order_key, priority, scope.

        Raises:
            Denied: nothing was taken in.
        """
        with self.file.writing() as tx:
            known = self.find_by_key(tx, user, key, payload)
            if known is not None:
                return known
            if not self.admits(tx, user):
                tx.record("denied", actor="office", limit="new_tasks", user=user)
                denied = True
            else:
                denied = False
                tx.record("allowed", actor="office", limit="new_tasks", user=user)
                tx.insert("admissions", user=user, at=tx.now)
                id_ = self.insert(
                    tx,
                    payload,
                    available=self.available(tx, due_s),
                    user=user,
                    key=key,
                    deadline=None if deadline_s is None else tx.now + deadline_s,
                    **{name: value for name, value in named.items() if value is not None},
                )
        if denied:
            raise Denied
        return id_

    def find_by_key(self, tx: Transaction, user: str, key: str | None, payload: Mapping[str, Any]) -> str | None:
        """The id of the task that this user has submitted by this key before."""
        row = None if key is None else tx.row("SELECT id FROM tasks WHERE user = ? AND key = ?", user, key)
        return None if row is None else str(row["id"])

    def admits(self, tx: Transaction, user: str) -> bool:
        """Whether the user may submit one more task now."""
        n, per_s = NEW_TASKS
        row = tx.row("SELECT count(*) AS n FROM admissions WHERE user = ? AND at > ?", user, tx.now - per_s)
        assert row is not None, "a count has a row"
        return bool(row["n"] < n)

    def available(self, tx: Transaction, due_s: float | None) -> float:
        """From when on a new task may start."""
        return tx.now + (due_s or 0.0)

    def insert(self, tx: Transaction, payload: Mapping[str, Any], **values: Any) -> str:
        """A new row, and its first line in the audit trail."""
        name = str(payload["task"])
        id_ = tx.insert("tasks", name=name, payload=json.dumps(payload), state="ACCEPTED", **values)
        self.note(tx, id_, name, None, "ACCEPTED")
        return str(id_)

    def read(self, id_: str) -> sqlite3.Row | None:
        """The task as it is."""
        with self.file.writing() as tx:
            return tx.row("SELECT * FROM tasks WHERE id = ?", id_)

    def cancel(self, id_: str) -> bool:
        """Withdraw a task that does not run and has not ended; whether that could be done."""
        with self.file.writing() as tx:
            row = tx.row("SELECT * FROM tasks WHERE id = ? AND state IN ('ACCEPTED', 'RETRYING')", id_)
            if row is not None:
                self.move(tx, row, "CANCELLED")
            return row is not None

    def redrive(self, id_: str) -> bool:
        """Put a dead task back, with all its attempts before it; whether it was dead."""
        with self.file.writing() as tx:
            row = tx.row("SELECT * FROM tasks WHERE id = ? AND state = 'DEAD'", id_)
            if row is not None:
                tx.record("redrive", actor="office", task=row["name"])
                self.move(tx, row, "ACCEPTED", attempts=0, available=tx.now)
            return row is not None

    def pause(self, scope: str | None) -> None:
        """From now on no task of this scope is claimed; None: none at all."""
        with self.file.writing() as tx:
            tx.change("INSERT OR IGNORE INTO pauses VALUES (?)", scope or "")

    def resume(self, scope: str | None) -> None:
        """The opposite."""
        with self.file.writing() as tx:
            tx.change("DELETE FROM pauses WHERE scope = ?", scope or "")

    def set_schedule(self, name: str, every_s: float, times: int, payload: Mapping[str, Any]) -> None:
        """Make `times` tasks, one every `every_s` seconds. Set up twice, it is one schedule."""
        with self.file.writing() as tx:
            tx.change(
                "INSERT OR IGNORE INTO schedules (name, payload, every_s, times, due) VALUES (?, ?, ?, ?, ?)",
                *(name, json.dumps(payload), every_s, times, tx.now + every_s),
            )

    # What workers do.

    def claim(self, owner: str) -> Claim | None:
        """The task to run next, now leased to this worker; None: nothing may start now."""
        with self.file.writing() as tx:
            waiting = tx.rows(
                "SELECT * FROM tasks WHERE state IN ('ACCEPTED', 'RETRYING') AND available <= ? ORDER BY id", tx.now
            )
            row = next((row for row in self.in_order(waiting) if self.may_start(tx, row)), None)
            if row is None:
                return None
            tx.change(
                "UPDATE tasks SET overtaken = overtaken + 1 WHERE state IN ('ACCEPTED', 'RETRYING') AND id < ?",
                row["id"],
            )
            if row["scope"] is not None:
                tx.insert("starts", scope=row["scope"], at=tx.now)
            self.move(
                tx,
                row,
                "RUNNING",
                owner=owner,
                attempts=row["attempts"] + 1,
                fence=row["fence"] + 1,
                lease_until=tx.now + self.lease_s,
            )
            return Claim(row["id"], row["name"], json.loads(row["payload"]), row["attempts"] + 1, row["fence"] + 1)

    def in_order(self, waiting: Sequence[sqlite3.Row]) -> Sequence[sqlite3.Row]:
        """The highest priority first, but before that tasks that were overtaken too often; each in the order of submission."""
        return sorted(waiting, key=lambda row: (row["overtaken"] < OVERTAKES_MAX, -row["priority"], row["id"]))

    def may_start(self, tx: Transaction, row: sqlite3.Row) -> bool:
        """Whether nothing holds this waiting task up."""
        return (
            not self.is_too_late(tx, row)
            and not self.is_paused(tx, row)
            and not self.is_behind(tx, row)
            and not self.is_crowded(tx, row)
            and not self.is_too_fast(tx, row)
        )

    def is_too_late(self, tx: Transaction, row: sqlite3.Row) -> bool:
        """Whether it might be seen to start after its deadline."""
        return row["deadline"] is not None and tx.now > row["deadline"] - STARTED_WITHIN_S

    def is_paused(self, tx: Transaction, row: sqlite3.Row) -> bool:
        """Whether its scope is paused, or all are."""
        return tx.row("SELECT 1 FROM pauses WHERE scope IN ('', ?)", row["scope"] or "") is not None

    def is_behind(self, tx: Transaction, row: sqlite3.Row) -> bool:
        """Whether an earlier task of its ordering key has not ended."""
        earlier = "SELECT 1 FROM tasks WHERE order_key = ? AND id < ? AND state NOT IN (?, ?, ?, ?)"
        return row["order_key"] is not None and tx.row(earlier, row["order_key"], row["id"], *FINAL) is not None

    def is_crowded(self, tx: Transaction, row: sqlite3.Row) -> bool:
        """Whether another task of its scope runs."""
        running = "SELECT 1 FROM tasks WHERE scope = ? AND state = 'RUNNING'"
        return row["scope"] is not None and tx.row(running, row["scope"]) is not None

    def is_too_fast(self, tx: Transaction, row: sqlite3.Row) -> bool:
        """Whether so many tasks of its scope were started just now that one more might be too many."""
        n, per_s = STARTS
        since = tx.now - per_s - STARTED_WITHIN_S
        found = tx.row("SELECT count(*) AS n FROM starts WHERE scope = ? AND at > ?", row["scope"], since)
        assert found is not None, "a count has a row"
        return row["scope"] is not None and found["n"] >= n

    def renew(self, claim: Claim) -> bool:
        """Prolong the lease, if it still is this claim's."""
        with self.file.writing() as tx:
            sql = "UPDATE tasks SET lease_until = ? WHERE id = ? AND fence = ? AND state = 'RUNNING'"
            return tx.change(sql, tx.now + self.lease_s, claim.id, claim.fence) == 1

    def note_progress(self, claim: Claim, percent: int) -> None:
        """For clients to read."""
        with self.file.writing() as tx:
            tx.change("UPDATE tasks SET percent = ? WHERE id = ? AND fence = ?", percent, claim.id, claim.fence)

    def succeed(self, claim: Claim, handed_back: Mapping[str, Any]) -> None:
        """The attempt ended well: keep its result, and take in the tasks that it handed back, in one transaction."""
        with self.file.writing() as tx:
            row = self.held(tx, claim)
            if row is None:
                return
            if self.has_expired(tx, row):
                self.move(tx, row, "EXPIRED")
                return
            self.move(tx, row, "SUCCEEDED", result=handed_back.get("result"))
            for child in handed_back.get("children", ()):
                self.spawn(tx, child, row, parent=claim.id, available=tx.now)
            if "then" in handed_back:
                self.spawn(tx, handed_back["then"], row, parent=claim.id, available=NEVER, after_parent=1)
            self.release_followers(tx, claim.id)

    def has_expired(self, tx: Transaction, row: sqlite3.Row) -> bool:
        """Whether its deadline is over, so that what its attempt came to does not count."""
        return row["deadline"] is not None and tx.now > row["deadline"]

    def fail(self, claim: Claim, error: str, chance: float) -> None:
        """The attempt failed: another one after a while, or none."""
        with self.file.writing() as tx:
            row = self.held(tx, claim)
            if row is None:
                return
            if error == "permanent":
                self.bury(tx, row, "permanent")
            elif row["attempts"] >= self.attempts_max():
                self.bury(tx, row, "exhausted")
            else:
                self.move(tx, row, "RETRYING", available=tx.now + self.delay_s(row["attempts"], chance))

    def attempts_max(self) -> int:
        """How often a task that fails is tried."""
        return ATTEMPTS_MAX

    def delay_s(self, attempt: int, chance: float) -> float:
        """How long to wait after this failed attempt."""
        least_s, most_s = DELAYS_S[attempt - 1]
        return least_s + chance * (most_s - least_s)

    def held(self, tx: Transaction, claim: Claim) -> sqlite3.Row | None:
        """The row of a claim; None: another one has taken over."""
        return tx.row("SELECT * FROM tasks WHERE id = ? AND fence = ? AND state = 'RUNNING'", claim.id, claim.fence)

    def spawn(self, tx: Transaction, payload: Mapping[str, Any], row: sqlite3.Row, **values: Any) -> None:
        """A task of the office's own, as its parent's child."""
        tx.record("spawn", actor="office", task=payload["task"], parent=row["name"], user=row["user"])
        self.insert(tx, payload, user=row["user"], **values)

    def expire(self, tx: Transaction) -> None:
        """Close what waits and is past its deadline."""
        for row in tx.rows("SELECT * FROM tasks WHERE state IN ('ACCEPTED', 'RETRYING') AND deadline <= ?", tx.now):
            self.move(tx, row, "EXPIRED")

    def release_followers(self, tx: Transaction, parent: int | None) -> None:
        """Let the task that was to run after these children run, once all of them have ended."""
        left = "SELECT 1 FROM tasks WHERE parent = ? AND after_parent = 0 AND state NOT IN (?, ?, ?, ?)"
        if parent is not None and tx.row(left, parent, *FINAL) is None:
            tx.change("UPDATE tasks SET available = ? WHERE parent = ? AND available = ?", tx.now, parent, NEVER)

    def bury(self, tx: Transaction, row: sqlite3.Row, reason: str) -> None:
        """Give the task up, with a letter that says why."""
        tx.record("dead", actor="office", task=row["name"], attempts=row["attempts"], reason=reason)
        self.move(tx, row, "DEAD")

    def move(self, tx: Transaction, row: sqlite3.Row, to: str, **values: Any) -> None:
        """Another state of the task, and its line in the audit trail."""
        changes = ", ".join(f"{name} = ?" for name in ("state", *values))
        tx.change(f"UPDATE tasks SET {changes} WHERE id = ?", to, *values.values(), row["id"])  # noqa: S608  our own names
        self.note(tx, row["id"], row["name"], row["state"], to)
        if to in FINAL:
            self.release_followers(tx, row["parent"])

    def note(self, tx: Transaction, id_: int, name: str, before: str | None, to: str) -> None:
        """A line in the audit trail."""
        tx.record("state", actor="office", task=name, **{"from": before, "to": to})

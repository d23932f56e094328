"""One planted defect for each promise: classes that replace the honest ones, by the name of the promise that each breaks.

`OFFICE_DEFECT=no_lost_task tasklab run … --system office.lab:system`, or `Office("no_lost_task")`. `fenced_writes` has none: the lab's own
resource refuses what an old fence asks for. An office that claims `coalesced_submission_runs` breaks it without `coalescing`.
tests/end_to_end/test_office.py says in which scenario each is found.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from office.leadership import Leadership
from office.schema import Transaction
from office.store import ATTEMPTS_MAX, Claim, Denied, Store

T = TypeVar("T")

EVERY = 10
"""A defect that would break everything strikes only every so many tasks."""


def _is_struck(id_: int | str) -> bool:
    return int(id_) % EVERY == 0


# Of the office itself. The first one is no defect, but another design.


class _Coalesces(Store):
    def find_by_key(self, tx: Transaction, user: str, key: str | None, payload: Mapping[str, Any]) -> str | None:
        waiting = "SELECT id FROM tasks WHERE user = ? AND key = ? AND state = 'ACCEPTED' AND attempts = 0"
        row = None if key is None else tx.row(waiting, user, key)
        return None if row is None else str(row["id"])


class _Forgets(Store):
    def insert(self, tx: Transaction, payload: Mapping[str, Any], **values: Any) -> str:
        id_ = Store.insert(self, tx, payload, **values)
        if _is_struck(id_):
            tx.change("DELETE FROM tasks WHERE id = ?", id_)
            tx.change("DELETE FROM records WHERE id = (SELECT max(id) FROM records)")
        return id_


class _NotesNothing(Store):
    def note(self, tx: Transaction, id_: int, name: str, before: str | None, to: str) -> None:
        if not _is_struck(id_):
            Store.note(self, tx, id_, name, before, to)


class _AnotherId(Store):
    def find_by_key(self, tx: Transaction, user: str, key: str | None, payload: Mapping[str, Any]) -> str | None:
        known = Store.find_by_key(self, tx, user, key, payload)
        same = tx.row("SELECT 1 FROM tasks WHERE id = ? AND name = ?", known, payload["task"])
        return known if same is None else f"{known}.0"  # SQLite compares it as the same number


class _AdmitsAll(Store):
    def admits(self, tx: Transaction, user: str) -> bool:
        return True


class _DeniesSome(Store):
    def admits(self, tx: Transaction, user: str) -> bool:
        row = tx.row("SELECT count(*) AS n FROM records")
        assert row is not None, "a count has a row"
        return row["n"] % EVERY != 0 and Store.admits(self, tx, user)


class _StartsLate(Store):
    def available(self, tx: Transaction, due_s: float | None) -> float:
        row = tx.row("SELECT count(*) AS n FROM tasks")
        assert row is not None, "a count has a row"
        return tx.now + (due_s or 0.0) + 10.5 * _is_struck(row["n"])


class _DueTooEarly(Store):
    def available(self, tx: Transaction, due_s: float | None) -> float:
        return tx.now


class _DueTooLate(Store):
    def available(self, tx: Transaction, due_s: float | None) -> float:
        return tx.now + (0.0 if due_s is None else due_s + 3.0)


class _CancelsNothing(Store):
    def cancel(self, id_: str) -> bool:
        with self.file.writing() as tx:
            return tx.row("SELECT * FROM tasks WHERE id = ? AND state IN ('ACCEPTED', 'RETRYING')", id_) is not None


class _NeverTooLate(Store):
    def is_too_late(self, tx: Transaction, row: sqlite3.Row) -> bool:
        return False

    def expire(self, tx: Transaction) -> None:
        pass


class _SucceedsTooLate(Store):
    def has_expired(self, tx: Transaction, row: sqlite3.Row) -> bool:
        return False


class _LongLease(Store):
    lease_s = 6.0


class _NeverPaused(Store):
    def is_paused(self, tx: Transaction, row: sqlite3.Row) -> bool:
        return False


class _NeverBehind(Store):
    def is_behind(self, tx: Transaction, row: sqlite3.Row) -> bool:
        return False


class _NeverCrowded(Store):
    def is_crowded(self, tx: Transaction, row: sqlite3.Row) -> bool:
        return False


class _NeverTooFast(Store):
    def is_too_fast(self, tx: Transaction, row: sqlite3.Row) -> bool:
        return False


class _StarvesTheLow(Store):
    def in_order(self, waiting: Sequence[sqlite3.Row]) -> Sequence[sqlite3.Row]:
        return sorted(waiting, key=lambda row: (-row["priority"], row["id"]))


class _ToAcceptedAgain(Store):
    def note(self, tx: Transaction, id_: int, name: str, before: str | None, to: str) -> None:
        Store.note(self, tx, id_, name, before, "ACCEPTED" if to == "RETRYING" else to)


class _GivesUpEarly(Store):
    def attempts_max(self) -> int:
        return ATTEMPTS_MAX - 1


class _RetriesLate(Store):
    def delay_s(self, attempt: int, chance: float) -> float:
        return 2.6 if attempt == 1 else 0.0


class _MixesResults(Store):
    def succeed(self, claim: Claim, handed_back: Mapping[str, Any]) -> None:
        Store.succeed(
            self, claim, {**handed_back, "result": "another task's"} if "result" in handed_back else handed_back
        )


STORES: Mapping[str, type[Store]] = {
    "coalescing": _Coalesces,
    "no_lost_task": _Forgets,
    "outbox_atomic": _NotesNothing,
    "idempotent_submission": _AnotherId,
    "rate_limit_respected": _AdmitsAll,
    "denied_only_when_full": _DeniesSome,
    "starts_in_time": _StartsLate,
    "not_before_due": _DueTooEarly,
    "due_in_time": _DueTooLate,
    "cancel_honoured": _CancelsNothing,
    "deadline_honoured": _NeverTooLate,
    "not_done_after_deadline": _SucceedsTooLate,
    "lease_kept": _LongLease,
    "pause_honoured": _NeverPaused,
    "order_kept": _NeverBehind,
    "concurrency_bounded": _NeverCrowded,
    "execution_rate_respected": _NeverTooFast,
    "priority_bounded": _StarvesTheLow,
    "legal_transitions": _ToAcceptedAgain,
    "dead_letter_if_exhausted": _GivesUpEarly,
    "retry_schedule": _RetriesLate,
    "result_truthful": _MixesResults,
}


# Of its leader.


class _RescuesNobody(Leadership):
    def rescue(self, tx: Transaction) -> None:
        pass


class _RescuesLate(Leadership):
    def rescued_after_s(self) -> float:
        return 9.0


class _CountsNoDeath(Leadership):
    def after_rescue(self, attempts: int) -> dict[str, int]:
        return {"attempts": attempts - 1}


class _TakesAnyLock(Leadership):
    def is_free(self, tx: Transaction, until: float) -> bool:
        return True


class _OccursTwice(Leadership):
    def make_occurrence(
        self, tx: Transaction, schedule: str, name: str, due: float, payload: dict[str, object]
    ) -> None:
        Leadership.make_occurrence(self, tx, schedule, name, due, payload)
        Leadership.make_occurrence(self, tx, schedule, f"{name}-again", due, payload)


LEADERS: Mapping[str, type[Leadership]] = {
    "no_stuck_task": _RescuesNobody,
    "recovers_in_time": _RescuesLate,
    "poison_bounded": _CountsNoDeath,
    "single_holder": _TakesAnyLock,
    "schedule_kept": _OccursTwice,
}


# Of its workers and clients: mixed into their classes, which import more than this module may.


class _ActsNever:
    def run(self, claim: Claim) -> Any:
        steps = {"steps": 0} if _is_struck(claim.id) else {}
        return super().run(replace(claim, payload={**claim.payload, **steps}))  # type: ignore[misc]


class _ActsWithoutKey:
    has_key = False


class _RenewsNever:
    renew_s = 3600.0


class _RunsAgain:
    def run(self, claim: Claim) -> Any:
        if _is_struck(claim.id):
            super().run(claim)  # type: ignore[misc]
        return super().run(claim)  # type: ignore[misc]


class _GoesBack:
    def report(self, claim: Claim, percent: int) -> None:
        super().report(claim, percent)  # type: ignore[misc]
        self.tell(claim, 0)  # type: ignore[attr-defined]


class _LogsPayloads:
    def run(self, claim: Claim) -> Any:
        print(claim.payload)
        return super().run(claim)  # type: ignore[misc]


WORKERS: Mapping[str, type[Any]] = {
    "exactly_one_effect": _ActsNever,
    "effect_at_most_once": _ActsWithoutKey,
    "lease_kept": _RenewsNever,
    "duplicates_explained": _RunsAgain,
    "progress_monotonic": _GoesBack,
    "nothing_leaked": _LogsPayloads,
}


class _RunsRefused:
    def submit(self, operation: Any) -> str:
        id_: str = super().submit(operation)  # type: ignore[misc]
        if _is_struck(id_):
            raise Denied
        return id_


class _SucceedsTooSoon:
    @staticmethod
    def state_of(row: sqlite3.Row) -> str:
        return "SUCCEEDED" if row["state"] == "RUNNING" else str(row["state"])


class _ListsNotAll:
    @staticmethod
    def is_listed(row: sqlite3.Row) -> bool:
        return not (row["state"] == "SUCCEEDED" and _is_struck(row["id"]))


CLIENTS: Mapping[str, type[Any]] = {
    "no_phantom_task": _RunsRefused,
    "status_truthful": _SucceedsTooSoon,
    "outcome_reported": _ListsNotAll,
}


def store_class(defect: str) -> type[Store]:
    """The store with this defect, or the honest one."""
    return STORES.get(defect, Store)


def leadership_class(defect: str) -> type[Leadership]:
    """The leader's part with this defect, or the honest one."""
    return LEADERS.get(defect, Leadership)


def mixed(defect: str, honest: type[T], defects: Mapping[str, type[Any]]) -> type[T]:
    """The honest class, or one that has the methods of the defect before it."""
    if defect not in defects:
        return honest
    made: type[T] = type(honest.__name__, (defects[defect], honest), {})
    return made

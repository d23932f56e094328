"""The office's plug-in: it claims every promise, states its limits, and can do everything that the lab can ask for."""

import json
import os
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from office.defects import CLIENTS, mixed, store_class
from office.schema import File
from office.store import ATTEMPTS_MAX, DELAYS_S, LEASE_S, LOCK_S, NEW_TASKS, STARTS, Denied, Store
from tasklab import (
    Account,
    Cancel,
    Client,
    Event,
    Guarantee,
    Handlers,
    Operation,
    Outcome,
    Pace,
    Pause,
    Policy,
    ProcessSpec,
    ReadStatus,
    Redrive,
    Resume,
    ServiceName,
    Services,
    SetSchedule,
    Submit,
)

HOME = Path(__file__).parents[1]
DEFECT = "OFFICE_DEFECT"
"""Variable with the name of a defect (defects.py); none where it is not set."""
STATES = {"done": "SUCCEEDED", "dead": "DEAD", "cancelled": "CANCELLED", "expired": "EXPIRED"}


class Office:
    """A task system that makes every promise: two workers and two leaders on one SQLite file."""

    name = "office"
    needs: frozenset[ServiceName] = frozenset()
    claims = frozenset(Guarantee) - {Guarantee.COALESCED_SUBMISSION_RUNS}
    capabilities = frozenset(
        {
            *("submit", "status", "cancel", "pause", "resume", "redrive", "schedule"),
            *("key", "deadline", "due", "order_key", "priority", "scope", "children", "result"),
        }
    )
    pace = Pace(quiet_s=12.0, lease_s=LEASE_S, lock_s=LOCK_S)
    policy = Policy(
        attempts_max=ATTEMPTS_MAX,
        delays_s=DELAYS_S,
        tolerance_s=1.0,
        budget_s=9.0,
        grace_s=0.5,
        wait_s=9.0,
        overtakes_max=20,
        order="serial",
        concurrency={"by": "scope", "n": 1},  # type: ignore[arg-type]  # as JSON spells it
        window={"kind": "sliding", "n": NEW_TASKS[0], "per_s": NEW_TASKS[1]},
        execution_window={"kind": "sliding", "n": STARTS[0], "per_s": STARTS[1], "by": "scope"},
        catch_up="all",
        renew_s=0.4,
        ends_at_deadline=True,
    )

    def __init__(self, defect: str = "", name: str = "office") -> None:
        self.defect = defect
        self.name = name

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """Two workers and two leaders, of which one leads."""
        return [
            ProcessSpec(
                name,
                role,
                [sys.executable, "-m", f"office.{module}", str(_file(services)), name, self.defect],
                handlers.environment_of(name),
                cwd=HOME,
            )
            for name, role, module in (
                ("worker-1", "worker", "worker"),
                ("worker-2", "worker", "worker"),
                ("rescuer-1", "rescuer", "leader"),
                ("rescuer-2", "rescuer", "leader"),
            )
        ]

    embedded_processes = processes

    def client(self, services: Services) -> Client:
        """A client on the same file."""
        return mixed(self.defect, OfficeClient, CLIENTS)(store_class(self.defect)(_file(services)))

    def account(self, services: Services) -> Account:
        """Every task by its state, by the lab's name for it."""
        with closing(File(_file(services))) as file, file.writing() as tx:
            rows = tx.rows("SELECT * FROM tasks ORDER BY id")
        latest = {row["name"]: row for row in rows}  # where tasks coalesce, one of the lab's may be several here
        shown = [row for row in latest.values() if mixed(self.defect, OfficeClient, CLIENTS).is_listed(row)]
        lists = {place: tuple(row["name"] for row in shown if row["state"] == state) for place, state in STATES.items()}
        return Account(**lists, pending=tuple(row["name"] for row in shown if row["state"] not in STATES.values()))

    def trail(self, services: Services) -> Sequence[Event]:
        """The audit trail."""
        with closing(File(_file(services))) as file, file.writing() as tx:
            rows = tx.rows("SELECT * FROM records ORDER BY id")
        told = [(row["at_ns"], json.loads(row["event"])) for row in rows]
        return [
            Event(t_ns=at_ns, **{_FIELDS.get(name, name): it for name, it in event.items()}) for at_ns, event in told
        ]


_FIELDS = {"from": "from_"}


class OfficeClient:
    """A client on the office's file."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def invoke(self, operation: Operation) -> Outcome:
        """Once, without a retry."""
        try:
            return self.carry_out(operation)
        except Denied:
            return Outcome("fail", detail="too many tasks of this user")
        except sqlite3.Error as error:
            return Outcome("info", detail=str(error))  # it may have been written nevertheless

    def close(self) -> None:
        """Close the file."""
        self.store.file.close()

    def carry_out(self, operation: Operation) -> Outcome:
        """What the office answers."""
        match operation:
            case Submit():
                return Outcome("ok", id=self.submit(operation))
            case ReadStatus():
                return self.status(operation.id)
            case Cancel():
                return _done_or_not(self.store.cancel(operation.id), "it runs, or has ended")
            case Redrive():
                return _done_or_not(self.store.redrive(operation.id), "it is not dead")
            case Pause():
                self.store.pause(operation.scope)
            case Resume():
                self.store.resume(operation.scope)
            case SetSchedule():
                self.store.set_schedule(operation.name, operation.every_s, operation.times, operation.payload)
        return Outcome("ok")

    def submit(self, operation: Submit) -> str:
        """The id of the task."""
        return self.store.submit(
            operation.payload,
            user=operation.user,
            key=operation.key,
            due_s=operation.due_s,
            deadline_s=operation.deadline_s,
            order_key=operation.order_key,
            priority=operation.priority,
            scope=operation.scope,
        )

    def status(self, id_: str) -> Outcome:
        """How the task is."""
        row = self.store.read(id_)
        if row is None:
            return Outcome("fail", detail="no such task")
        state = self.state_of(row) if self.is_listed(row) else "RUNNING"
        return Outcome("ok", id=id_, state=state, percent=row["percent"], result=row["result"])

    @staticmethod
    def state_of(row: sqlite3.Row) -> str:
        """What the office shows as its state."""
        return str(row["state"])

    @staticmethod
    def is_listed(row: sqlite3.Row) -> bool:
        """Whether the office shows a task as what it is: every one."""
        return True


def _done_or_not(done: bool, why: str) -> Outcome:
    return Outcome("ok") if done else Outcome("fail", detail=why)


def _file(services: Services) -> Path:
    return services.directory / "office.sqlite3"


class CoalescingOffice(Office):
    """The office, where a submission joins a task of its key only while that one waits: it is another task once that one has begun.

    Two tasks of one key may so have effects, and a task that is submitted twice may run twice: it claims no promise against that.
    """

    claims = frozenset(
        {
            Guarantee.NO_LOST_TASK,
            Guarantee.NO_STUCK_TASK,
            Guarantee.NO_PHANTOM_TASK,
            Guarantee.COALESCED_SUBMISSION_RUNS,
        }
    )
    policy = replace(Office.policy, coalesce=True)


system = Office(os.environ.get(DEFECT, ""))
coalescing = CoalescingOffice(os.environ.get(DEFECT, "coalescing"), name="coalescing_office")

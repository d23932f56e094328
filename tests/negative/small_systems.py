"""Small systems on one SQLite file, two workers each: one is honest, each other one does or says one wrong (or slow) thing."""

import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tasklab import (
    Account,
    Client,
    Guarantee,
    Handlers,
    Operation,
    Outcome,
    Pace,
    Policy,
    ProcessSpec,
    ReadStatus,
    ServiceName,
    Services,
    Submit,
)
from tests.negative.small_store import EVERY, LEASE_S, TRIES_MAX, opened

ROOT = Path(__file__).parents[2]


class WithoutAccount:
    """The honest one, which cannot list its tasks. `way`: the class of its workers."""

    name = "small"
    needs: frozenset[ServiceName] = frozenset()
    claims = frozenset(
        {
            *(Guarantee.NO_LOST_TASK, Guarantee.NO_STUCK_TASK, Guarantee.NO_PHANTOM_TASK),
            *(Guarantee.EXACTLY_ONE_EFFECT, Guarantee.DUPLICATES_EXPLAINED, Guarantee.DEAD_LETTER_IF_EXHAUSTED),
            *(Guarantee.STATUS_TRUTHFUL, Guarantee.OUTCOME_REPORTED, Guarantee.RECOVERS_IN_TIME),
        }
    )
    capabilities = frozenset({"submit", "status", "children"})
    pace = Pace(quiet_s=2.5, lease_s=LEASE_S)  # long enough for a busy machine
    policy = Policy(attempts_max=TRIES_MAX, budget_s=3.0)

    def __init__(self, way: str = "Worker") -> None:
        self.way = way

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        file = str(_file(services))
        return [
            ProcessSpec(
                name,
                "worker",
                [sys.executable, "-m", "tests.negative.small_worker", file, name, self.way],
                handlers.environment_of(name),
                cwd=ROOT,
            )
            for name in ("worker-1", "worker-2")
        ]

    embedded_processes = processes

    def client(self, services: Services) -> Client:
        return SmallClient(self, _file(services))

    def told(self, id_: int, state: str) -> str:
        """The state in which the account lists a task."""
        return state

    def shown(self, id_: int, state: str) -> str:
        """The state that a client reads."""
        return self.told(id_, state)

    def first_state(self, id_: int) -> str:
        """The state of a new task."""
        return "ACCEPTED"


class Small(WithoutAccount):
    """The honest one."""

    def account(self, services: Services) -> Account:
        with closing(opened(_file(services))) as tasks:
            rows = tasks.execute("SELECT id, name, state FROM tasks").fetchall()
        listed = [(name, self.told(id_, state)) for id_, name, state in rows]
        done, dead, cancelled = (
            tuple(name for name, told in listed if told == state) for state in ("SUCCEEDED", "DEAD", "CANCELLED")
        )
        pending = tuple(name for name, told in listed if told in ("ACCEPTED", "RUNNING"))
        return Account(done=done, dead=dead, cancelled=cancelled, expired=(), pending=pending)


class SmallClient:
    """A client on the file."""

    def __init__(self, system: WithoutAccount, file: Path) -> None:
        self.system = system
        self.tasks = opened(file)

    def invoke(self, operation: Operation) -> Outcome:
        try:
            if isinstance(operation, Submit):
                return Outcome("ok", id=self.submit(operation))
            if isinstance(operation, ReadStatus):
                (state,) = self.tasks.execute("SELECT state FROM tasks WHERE id = ?", (operation.id,)).fetchone()
                return Outcome("ok", id=operation.id, state=self.system.shown(int(operation.id), state))
        except sqlite3.Error as error:
            return Outcome("info", detail=str(error))
        return Outcome("fail", detail="tasks are submitted and read, and no more")

    def submit(self, operation: Submit) -> str:
        sql = "INSERT INTO tasks (name, payload, state) VALUES (?, ?, ?)"
        with self.tasks:
            row = (operation.task, json.dumps(operation.payload), "ACCEPTED")
            id_ = self.tasks.execute(sql, row).lastrowid
            assert id_ is not None
            if (state := self.system.first_state(id_)) != "ACCEPTED":
                self.tasks.execute("UPDATE tasks SET state = ? WHERE id = ?", (state, id_))
        return str(id_)

    def close(self) -> None:
        self.tasks.close()


def _file(services: Services) -> Path:
    return services.directory / "small.sqlite3"


class Drops(Small):
    """Never runs some of its tasks, and lists them as `listed`."""

    def __init__(self, listed: str) -> None:
        Small.__init__(self)
        self.listed = listed

    def first_state(self, id_: int) -> str:
        return "DEAD" if id_ % EVERY == 0 else "ACCEPTED"

    def told(self, id_: int, state: str) -> str:
        return self.listed if state == "DEAD" else state


class LosesResults(Small):
    """Some results are lost: clients read ACCEPTED for ever. Its account lists what was done."""

    def shown(self, id_: int, state: str) -> str:
        return "ACCEPTED" if id_ % EVERY == 0 else state


class LosesResultsUnseen(WithoutAccount):
    """The same, and it lists nothing; its clients are all that knows."""

    shown = LosesResults.shown


class ForgetsResults(Small):
    """The same results are missing in its account."""

    def told(self, id_: int, state: str) -> str:
        return "LOST" if id_ % EVERY == 0 and state == "SUCCEEDED" else state

    def shown(self, id_: int, state: str) -> str:
        return state


class TellsTooSoon(Small):
    """SUCCEEDED is told as soon as a worker has the task."""

    def shown(self, id_: int, state: str) -> str:
        return "SUCCEEDED" if state == "RUNNING" else state


class ListsTwice(Small):
    """Lists tasks that are done as pending, too."""

    def account(self, services: Services) -> Account:
        account = Small.account(self, services)
        done = account.done or ()
        return replace(account, pending=(*(account.pending or ()), *done[1:3]))


class Slow(WithoutAccount):
    """Honest: it recovers slowly, within its budget, and cannot list its tasks; it rests for longer than it says."""

    policy = Policy(attempts_max=TRIES_MAX, budget_s=6.0)


honest = Small()
marks_done_at_take = Small("MarksDoneAtTake")
buries_at_once = Small("BuriesAtOnce")
forges_effects = Small("Forges")
forges_cancels = Small("ForgesCancels")
forges_submissions = Small("ForgesSubmissions")
forges_faults = Small("ForgesFaults")
forgets_children = Small("ForgetsChildren")
forgets_children_unseen = WithoutAccount("ForgetsChildren")
acts_beyond = Small("ActsBeyond")
acts_before = Small("ActsBefore")
takes_over_silently = Small("TakesOverSilently")
takes_over_at_once = Small("TakesOverAtOnce")
ends_by_itself = Small("EndsByItself")
gives_back = Small("GivesBack")
drops_when_stopped = Small("DropsWhenStopped")
gives_back_too_much = Small("GivesBackTooMuch")
drops_when_stopped_unseen = WithoutAccount("DropsWhenStopped")
takes_nothing_over = Small()
lists_dropped_as_dead = Drops("DEAD")
lists_dropped_as_cancelled = Drops("CANCELLED")
lists_dropped_as_done = Drops("SUCCEEDED")
loses_results = LosesResults()
loses_results_unseen = LosesResultsUnseen()
forgets_results = ForgetsResults()
tells_too_soon = TellsTooSoon()
lists_twice = ListsTwice()
slow = Slow("RecoversSlowly")

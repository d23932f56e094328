"""Acme's plug-in: how the lab starts it, submits to it, and asks what it knows. Imported by the lab, in the lab's Python."""

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from acme.queue import Queue
from tasklab import (
    Account,
    Client,
    Guarantee,
    Handlers,
    Operation,
    Outcome,
    Pace,
    ProcessSpec,
    ServiceName,
    Services,
    Submit,
)

HOME = Path(__file__).parents[1]


class Acme:
    """A task queue on one SQLite file, with one worker."""

    name = "acme"
    needs: frozenset[ServiceName] = frozenset()  # no server: a file is all it has
    claims = frozenset(
        {
            Guarantee.NO_LOST_TASK,
            Guarantee.NO_STUCK_TASK,
            Guarantee.EXACTLY_ONE_EFFECT,
            Guarantee.DUPLICATES_EXPLAINED,
        }
    )
    pace = Pace(quiet_s=2.0)  # what has not moved for so long never will: its worker looks 50 times a second

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """One worker. `sys.executable` is the lab's Python; that of a virtual environment of Acme's own would do as well."""
        argv = [sys.executable, "-m", "acme.worker", str(_file(services))]
        return [ProcessSpec("worker-1", "worker", argv, handlers.environment_of("worker-1"), cwd=HOME)]

    embedded_processes = processes

    def client(self, services: Services) -> Client:
        """Who hands tasks in."""
        return AcmeClient(_file(services))

    def account(self, services: Services) -> Account:
        """Every task that Acme knows, by the lab's name for it."""
        with closing(Queue(_file(services))) as queue:
            done, dead, waiting = (
                tuple(str(payload["task"]) for payload in queue.payloads(state))
                for state in ("done", "dead", "waiting")
            )
        return Account(done=done, dead=dead, cancelled=(), expired=(), pending=waiting)


class AcmeClient:
    """A client that can only submit."""

    def __init__(self, file: Path) -> None:
        self._queue = Queue(file)

    def invoke(self, operation: Operation) -> Outcome:
        """Once, without a retry."""
        if not isinstance(operation, Submit):
            return Outcome("fail", detail="Acme has no status to read, and nothing is withdrawn")
        try:
            return Outcome("ok", id=str(self._queue.put(operation.payload)))
        except sqlite3.Error as error:
            return Outcome("info", detail=str(error))  # it may have been written all the same

    def close(self) -> None:
        """Let go of the file."""
        self._queue.close()


def _file(services: Services) -> Path:
    return services.directory / "acme.sqlite3"


system = Acme()

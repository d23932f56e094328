"""Acme's plug-in: how the lab starts it, submits to it, and lists its tasks. Imported in the lab's Python."""

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
    needs: frozenset[ServiceName] = frozenset()  # it needs no server, only a file
    claims = frozenset(
        {
            Guarantee.NO_LOST_TASK,
            Guarantee.NO_STUCK_TASK,
            Guarantee.EXACTLY_ONE_EFFECT,
            Guarantee.DUPLICATES_EXPLAINED,
        }
    )
    pace = Pace(quiet_s=2.0)  # long enough: the worker polls 50 times a second

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """One worker. `sys.executable` is the lab's Python; that of Acme's own virtual environment works, too."""
        argv = [sys.executable, "-m", "acme.worker", str(_file(services))]
        return [ProcessSpec("worker-1", "worker", argv, handlers.environment_of("worker-1"), cwd=HOME)]

    embedded_processes = processes

    def client(self, services: Services) -> Client:
        """A client that submits tasks."""
        return AcmeClient(_file(services))

    def account(self, services: Services) -> Account:
        """Every task in the file, by the lab's name for it."""
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
            return Outcome("fail", detail="Acme has no status to read, and no task can be cancelled")
        try:
            return Outcome("ok", id=str(self._queue.put(operation.payload)))
        except sqlite3.Error as error:
            return Outcome("info", detail=str(error))  # it may have been written

    def close(self) -> None:
        """Close the file."""
        self._queue.close()


def _file(services: Services) -> Path:
    return services.directory / "acme.sqlite3"


system = Acme()

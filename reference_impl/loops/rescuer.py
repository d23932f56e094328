"""The rescuer: the safety net under everything else (R14). One leader sweeps; what it does is safe even if two believe to lead.

Every sweep is a look without a lock and then, task by task, a move that checks again, so that a task which recovered between the two
is left alone, and under the leader's fence, so that a leader that was away cannot write late.
"""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import BigInteger, ColumnElement, Connection, Engine, Integer, Select, bindparam, select

from reference_impl.errors import CacheUnavailable, DatabaseError
from reference_impl.fast import lock
from reference_impl.fast.lock import HeldLock
from reference_impl.metrics import Metrics
from reference_impl.ports import Cache, LeaderJob, Runtime, Topology
from reference_impl.rows import dead_letter, outbox, settlement, store
from reference_impl.rows.database_clock import microseconds, now_us
from reference_impl.rows.schema import tasks
from reference_impl.rows.transactions import read, transact
from reference_impl.task import HELD, WAITING, Task, TaskState

log = structlog.get_logger()

LOCK = "sweep"
ROUNDS_MAX = 50
"""How many batches of one kind a sweep takes: after an outage there are many at once, and the other kinds have their turn, too."""


def _finding(*where: ColumnElement[bool]) -> Select[Any]:
    """Some tasks, those first that have been as they are for the longest time."""
    found = select(tasks).where(*where).order_by(tasks.c.updated_us, tasks.c.id)
    return found.limit(bindparam("rows_max", type_=Integer))


_OVERDUE = _finding(tasks.c.status.in_((*WAITING, *HELD)), tasks.c.deadline_us <= now_us())
_EXPIRE_HELD = settlement.held_moves(TaskState.EXPIRED)
_EXPIRE_WAITING = {state: store.moving(state, TaskState.EXPIRED) for state in WAITING}

_IS_SILENT = tasks.c.lease_expires_us < now_us()
_ABANDONED = _finding(tasks.c.status.in_(HELD), _IS_SILENT)
_CANCEL_SILENT = settlement.held_moves(TaskState.CANCELLED, _IS_SILENT)
# A cancellation that came between the look and the move is not forgotten: the next sweep finds it.
_IS_WANTED = tasks.c.cancel_requested.is_(False)
_BURY_SILENT = settlement.failing_moves(TaskState.DEAD, _IS_SILENT, _IS_WANTED)
_RETRY_SILENT = settlement.retry_moves(_IS_SILENT, _IS_WANTED)

_UNDELIVERED = _finding(
    tasks.c.status.in_(WAITING), tasks.c.enqueued_us < now_us() - bindparam("patience_us", type_=BigInteger)
)


@dataclass(frozen=True, slots=True)
class RescuerOptions:
    """How the rescuer works; what each means is said in `settings.Settings`."""

    sweep_s: float
    rows_max: int
    lock_ttl_s: float
    attempts_max: int
    undelivered_after_s: float
    outbox_kept_s: float


@dataclass(frozen=True, slots=True)
class Rescuer:
    """One of any number of rescuers; one of them leads."""

    runtime: Runtime
    engine: Engine
    cache: Cache
    jobs: Sequence[LeaderJob]
    metrics: Metrics
    topology: Topology
    options: RescuerOptions

    def run(self) -> None:
        """Try to lead, and while leading sweep, until it is time to end. Redis or the database being down is waited for."""
        while not self.runtime.stop.wait(self.options.sweep_s):
            try:
                held = lock.acquire(self.runtime, self.engine, self.cache, LOCK, ttl_s=self.options.lock_ttl_s)
                if held is not None:
                    self._lead(held)
            except (CacheUnavailable, DatabaseError) as error:
                log.warning("rescuer cannot sweep", why=str(error))

    def _lead(self, held: HeldLock) -> None:
        try:
            while not self.runtime.stop.requested:
                self._run_jobs(held.fence)
                if not self.sweep(held):
                    return
                if self.runtime.stop.wait(self.options.sweep_s):
                    return
                if not lock.renew(self.runtime, self.cache, held, ttl_s=self.options.lock_ttl_s):
                    return
        finally:
            lock.release(self.runtime, self.cache, held)

    def _run_jobs(self, fence: int) -> None:
        for job in self.jobs:
            try:
                job(fence)
            except Exception as error:  # noqa: BLE001 — a job that breaks must not keep the sweep from its work
                # No message and no locals: they may hold what is not for logs (R18).
                last = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{last.filename}:{last.lineno}"
                log.error("a leader job failed", job=repr(job), error=type(error).__name__, where=where)

    def sweep(self, held: HeldLock) -> bool:
        """Put right what is wrong at this moment; whether this leader's fence was still good all along.

        Raises:
            DatabaseError: as `transact`.
        """
        sweeps: tuple[tuple[str, Callable[[Connection], Sequence[Task]], Callable[[Connection, Task], bool]], ...] = (
            ("deadline passed", self._overdue, self._expire),
            ("lease ran out", self._abandoned, self.rescue),
            ("not delivered", self._undelivered, self._enqueue_again),
        )
        for cause, find, mend in sweeps:
            for _ in range(ROUNDS_MAX):
                found = read(self.engine, find)
                mended = [self._mend(held, task, mend) for task in found]
                if None in mended:
                    return False
                self.metrics.swept.labels(cause).inc(mended.count(True))
                if len(found) < self.options.rows_max or True not in mended:
                    break
        return self._purge(held)

    def _mend(self, held: HeldLock, task: Task, mend: Callable[[Connection, Task], bool]) -> bool | None:
        """Whether the task was mended; None: a newer leader has written."""

        def work(connection: Connection) -> bool | None:
            if not lock.is_current(connection, LOCK, fence=held.fence, owner=held.owner):
                return None
            return mend(connection, task)

        return transact(self.engine, work)

    def _purge(self, held: HeldLock) -> bool:
        """Whether the leader's fence was good; messages that were sent long ago are gone, so that they do not become ever more."""
        options = self.options

        def work(connection: Connection) -> int | None:
            if not lock.is_current(connection, LOCK, fence=held.fence, owner=held.owner):
                return None
            return outbox.purge_sent(connection, older_than_s=options.outbox_kept_s, rows_max=options.rows_max)

        for _ in range(ROUNDS_MAX):
            purged = transact(self.engine, work)
            if purged is None:
                return False
            if purged < options.rows_max:
                break
        return True

    def _overdue(self, connection: Connection) -> Sequence[Task]:
        """Tasks that are not ended although their deadline has passed."""
        return self._find(connection, _OVERDUE)

    def _expire(self, connection: Connection, task: Task) -> bool:
        if task.status in HELD:
            return settlement.end_held(connection, _EXPIRE_HELD, task, actor=self.runtime.name)
        return store.move(connection, _EXPIRE_WAITING[task.status], task.id, actor=self.runtime.name)

    def _abandoned(self, connection: Connection) -> Sequence[Task]:
        """Tasks whose attempt fell silent: its worker died, was paused or cut off."""
        return self._find(connection, _ABANDONED)

    def rescue(self, connection: Connection, task: Task) -> bool:
        """Whether the task, whose attempt has fallen silent, was still so, and now is tried again, or has ended."""
        name = self.runtime.name
        if task.cancel_requested:
            return settlement.end_held(connection, _CANCEL_SILENT, task, actor=name)
        record = settlement.failure_record("LeaseExpired", "the attempt fell silent")
        if task.attempts_spent >= self.options.attempts_max:
            ended = settlement.end_held(connection, _BURY_SILENT, task, actor=name, **record)
            if ended:
                dead_letter.write(connection, task, "poison", dead_queue=self.topology.dead_queue)
            return ended
        queue = self.topology.work_queue
        return settlement.retry_later(
            connection, _RETRY_SILENT, task, actor=name, delay_s=0.0, work_queue=queue, record=record
        )

    def _undelivered(self, connection: Connection) -> Sequence[Task]:
        """Tasks that should have been delivered long ago. None while the relay is behind: their messages are still to come."""
        patience_us = microseconds(self.options.undelivered_after_s)
        if outbox.oldest_pending_age_us(connection) > patience_us:
            return []
        return self._find(connection, _UNDELIVERED, patience_us=patience_us)

    def _enqueue_again(self, connection: Connection, task: Task) -> bool:
        if not store.note_enqueued(connection, task.id, seen_us=task.enqueued_us):
            return False
        outbox.put(connection, task.id, self.topology.work_queue, trace_id=task.trace_id)
        return True

    def _find(self, connection: Connection, statement: Select[Any], **bound: object) -> Sequence[Task]:
        found = connection.execute(statement, {"rows_max": self.options.rows_max, **bound})
        return [store.task_of(row) for row in found]

"""The rescuer: the safety net of the system (R14). One leader sweeps; a sweep is safe even if two processes hold the leadership.

A sweep reads candidates without a lock, then changes them one by one. Each change checks its condition again, so a task that has
recovered meanwhile is left alone, and is conditional on the leader's fence, so a former leader cannot write late.

A locked row is left to the next sweep: a process that is paused in the middle of a transaction keeps its locks until its connection
ends, and waiting for it would delay the rescue of every other task.
"""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import BigInteger, ColumnElement, Connection, Engine, Integer, Select, bindparam, select

from reference_impl.errors import CacheUnavailable, DatabaseError
from reference_impl.extensions import LeaderJob
from reference_impl.fast import lock
from reference_impl.fast.lock import HeldLock
from reference_impl.metrics import Metrics
from reference_impl.ports import Cache, Topology
from reference_impl.rows import dead_letter, outbox, settlement, store
from reference_impl.rows.database_clock import microseconds, now_us
from reference_impl.rows.schema import tasks
from reference_impl.rows.transactions import read, transact
from reference_impl.rows.transitions import apply, transition
from reference_impl.runtime import Runtime
from reference_impl.task import HELD, WAITING, Task, TaskState

log = structlog.get_logger()

LOCK = "sweep"
ROUNDS_MAX = 50
"""Maximum number of batches of one kind per sweep, so that after an outage no kind of repair delays the others for long."""


def _finding(*where: ColumnElement[bool]) -> Select[Any]:
    """Tasks that meet the conditions, longest unchanged first."""
    found = select(tasks).where(*where).order_by(tasks.c.updated_us, tasks.c.id)
    return found.limit(bindparam("rows_max", type_=Integer))


_OVERDUE = _finding(tasks.c.status.in_((*WAITING, *HELD)), tasks.c.deadline_us <= now_us())
_EXPIRE_HELD = settlement.held_transitions(TaskState.EXPIRED)
_EXPIRE_WAITING = {state: transition(state, TaskState.EXPIRED) for state in WAITING}

_LEASE_EXPIRED = tasks.c.lease_expires_us < now_us()
_ABANDONED = _finding(tasks.c.status.in_(HELD), _LEASE_EXPIRED)
_CANCEL_ABANDONED = settlement.held_transitions(TaskState.CANCELLED, _LEASE_EXPIRED)
# A task that was cancelled after it was read is left to the next sweep, which ends it as cancelled.
_NOT_CANCELLED = tasks.c.cancel_requested.is_(False)
_BURY_ABANDONED = settlement.failure_transitions(TaskState.DEAD, _LEASE_EXPIRED, _NOT_CANCELLED)
_RETRY_ABANDONED = settlement.retry_transitions(_LEASE_EXPIRED, _NOT_CANCELLED)

_UNDELIVERED = _finding(
    tasks.c.status.in_(WAITING), tasks.c.enqueued_us < now_us() - bindparam("overdue_us", type_=BigInteger)
)


@dataclass(frozen=True, slots=True)
class RescuerOptions:
    """Settings of a rescuer; `settings.Settings` explains each."""

    sweep_s: float
    rows_max: int
    lock_ttl_s: float
    attempts_max: int
    undelivered_after_s: float
    outbox_kept_s: float


@dataclass(frozen=True, slots=True)
class Rescuer:
    """One of any number of rescuers, of which one leads."""

    runtime: Runtime
    engine: Engine
    cache: Cache
    jobs: Sequence[LeaderJob]
    metrics: Metrics
    topology: Topology
    options: RescuerOptions

    def run(self) -> None:
        """Compete for the leadership, and sweep while leading, until shutdown is requested; retry while Redis or the database is down."""
        while not self.runtime.shutdown.wait(self.options.sweep_s):
            try:
                held = lock.acquire(self.runtime, self.engine, self.cache, LOCK, ttl_s=self.options.lock_ttl_s)
                if held is not None:
                    self._lead(held)
            except (CacheUnavailable, DatabaseError) as error:
                log.warning("rescuer cannot sweep", why=str(error))

    def _lead(self, held: HeldLock) -> None:
        try:
            while not self.runtime.shutdown.requested:
                self._run_jobs(held.fence)
                if not self.sweep(held):
                    return
                if self.runtime.shutdown.wait(self.options.sweep_s):
                    return
                if not lock.renew(self.runtime, self.cache, held, ttl_s=self.options.lock_ttl_s):
                    return
        finally:
            lock.release(self.runtime, self.cache, held)

    def _run_jobs(self, fence: int) -> None:
        for job in self.jobs:
            try:
                job(fence)
            except Exception as error:  # noqa: BLE001 — edge to user code: a failing job must not prevent the sweep
                # Neither the message nor local variables: they may contain secrets (R18).
                last = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{last.filename}:{last.lineno}"
                log.error("a leader job failed", job=repr(job), error=type(error).__name__, where=where)

    def sweep(self, held: HeldLock) -> bool:
        """Repair every task that needs it; False: a newer leader has written, so this one must stop.

        Raises:
            DatabaseError: as `transact`.
        """
        sweeps: tuple[tuple[str, Callable[[Connection], Sequence[Task]], Callable[[Connection, Task], bool]], ...] = (
            ("deadline passed", self._overdue, self._expire),
            ("lease ran out", self._abandoned, self.rescue),
            ("not delivered", self._undelivered, self._enqueue_again),
        )
        for cause, find, repair in sweeps:
            for _ in range(ROUNDS_MAX):
                found = read(self.engine, find)
                repaired = [self._repair(held, task, repair) for task in found]
                if None in repaired:
                    return False
                self.metrics.swept.labels(cause).inc(repaired.count(True))
                if len(found) < self.options.rows_max or True not in repaired:
                    break
        return self._purge(held)

    def _repair(self, held: HeldLock, task: Task, repair: Callable[[Connection, Task], bool]) -> bool | None:
        """Whether the task needed the repair and got it; None: a newer leader has written."""

        def work(connection: Connection) -> bool | None:
            if not lock.is_current(connection, LOCK, fence=held.fence, owner=held.owner):
                return None
            return store.lock_if_free(connection, task.id) and repair(connection, task)

        return transact(self.engine, work)

    def _purge(self, held: HeldLock) -> bool:
        """Delete old sent rows of the outbox; False: a newer leader has written."""
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
        """Tasks that have not ended although their deadline has passed."""
        return self._find(connection, _OVERDUE)

    def _expire(self, connection: Connection, task: Task) -> bool:
        if task.status in HELD:
            return settlement.end_held(connection, _EXPIRE_HELD, task, actor=self.runtime.name)
        return apply(connection, _EXPIRE_WAITING[task.status], task.id, actor=self.runtime.name)

    def _abandoned(self, connection: Connection) -> Sequence[Task]:
        """Tasks whose lease has expired: the worker died, was paused or is cut off."""
        return self._find(connection, _ABANDONED)

    def rescue(self, connection: Connection, task: Task) -> bool:
        """Retry or end a task whose lease has expired; False: it has changed meanwhile."""
        name = self.runtime.name
        if task.cancel_requested:
            return settlement.end_held(connection, _CANCEL_ABANDONED, task, actor=name)
        record = settlement.failure_record("LeaseExpired", "the attempt did not renew its lease")
        if task.has_used_up(self.options.attempts_max):
            ended = settlement.end_held(connection, _BURY_ABANDONED, task, actor=name, **record)
            if ended:
                dead_letter.write(connection, task, "poison", dead_queue=self.topology.dead_queue)
            return ended
        queue = self.topology.work_queue
        return settlement.retry_later(
            connection, _RETRY_ABANDONED, task, actor=name, delay_s=0.0, work_queue=queue, record=record
        )

    def _undelivered(self, connection: Connection) -> Sequence[Task]:
        """Tasks whose message should have been delivered long ago. Empty while the relay lags: their messages are still in the outbox."""
        overdue_us = microseconds(self.options.undelivered_after_s)
        if outbox.oldest_pending_age_us(connection) > overdue_us:
            return []
        return self._find(connection, _UNDELIVERED, overdue_us=overdue_us)

    def _enqueue_again(self, connection: Connection, task: Task) -> bool:
        if not store.note_enqueued(connection, task.id, seen_us=task.enqueued_us):
            return False
        outbox.put(connection, task.id, self.topology.work_queue, trace_id=task.trace_id)
        return True

    def _find(self, connection: Connection, statement: Select[Any], **bound: object) -> Sequence[Task]:
        found = connection.execute(statement, {"rows_max": self.options.rows_max, **bound})
        return [store.task_of(row) for row in found]

"""The work of each request of the API, without the HTTP around it."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from reference_impl.errors import (
    DatabaseError,
    KeyConflict,
    PayloadTooLarge,
    RateLimited,
    ReferenceSystemError,
    RequestInvalid,
)
from reference_impl.fast.progress import read_progress
from reference_impl.fast.rate_limit import check_limit
from reference_impl.http.models import NewTask, TaskView, view
from reference_impl.http.users import Caller
from reference_impl.metrics import Metrics
from reference_impl.ports import Broker, Cache
from reference_impl.rows import cancellation, dead_letter, store
from reference_impl.rows.cancellation import Cancelled
from reference_impl.rows.submission import Submission, Submitted, submit
from reference_impl.rows.transactions import read, transact
from reference_impl.runtime import Runtime
from reference_impl.settings import Settings
from reference_impl.task import Task

STATUS_OF: dict[type[ReferenceSystemError], int] = {
    PayloadTooLarge: 413,
    RequestInvalid: 422,
    KeyConflict: 409,
    RateLimited: 429,
    DatabaseError: 503,
}
"""HTTP status of each error of a request; a subclass has that of its nearest base."""


def status_of(error: ReferenceSystemError) -> int:
    """The HTTP status of an error."""
    return next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF)


@dataclass(frozen=True, slots=True)
class Api:
    """The API, without HTTP. Each method may raise DatabaseError, and the errors that it names."""

    runtime: Runtime
    engine: Engine
    broker: Broker
    cache: Cache
    metrics: Metrics
    settings: Settings

    def submit(self, task: NewTask, *, key: str | None, trace_id: str | None) -> Submitted:
        """The task of this submission, created by this call or by an earlier submission.

        Raises:
            SubmissionRefused: nothing was created.
        """

        def admit() -> None:
            if not check_limit(self.cache, self.settings.new_tasks_limit, task.user_id):
                self.metrics.limits_unchecked.inc()

        submission = Submission(
            user_id=task.user_id,
            type=task.type,
            payload=task.payload,
            priority=task.priority,
            key=key,
            deadline_s=task.deadline_s,
            trace_id=trace_id,
        )
        return self.find_or_create(submission, admit)

    def find_or_create(self, submission: Submission, admit: Callable[[], None]) -> Submitted:
        """The task of this submission; `admit` may raise to refuse a new one."""
        return submit(
            self.engine,
            self.runtime.entropy,
            submission,
            actor=self.runtime.name,
            work_queue=self.settings.work_queue,
            payload_bytes_max=self.settings.payload_bytes_max,
            admit=admit,
        )

    def find(self, task_id: str) -> Task | None:
        """The task, from the database."""
        return read(self.engine, lambda connection: store.find(connection, task_id))

    def is_visible(self, task_id: str, caller: Caller) -> bool:
        """Whether the caller may see the task: it is the caller's own, or the caller is an operator."""
        task = None if caller.is_operator else self.find(task_id)
        return caller.is_operator or (task is not None and caller.may_touch(task.user_id))

    def is_visible_letter(self, letter_id: int, caller: Caller) -> bool:
        """Whether the caller may see the dead letter, by its task."""
        if caller.is_operator:
            return True
        owner = read(self.engine, lambda connection: dead_letter.user_of(connection, letter_id))
        return owner is not None and caller.may_touch(owner)

    def read(self, task_id: str) -> TaskView | None:
        """The task as shown to its user: its state from the database and, until it ends, its progress from Redis."""
        task = self.find(task_id)
        if task is None:
            return None
        return view(task, None if task.status.is_final else read_progress(self.cache, task_id))

    def cancel(self, task_id: str) -> tuple[Cancelled, Task | None]:
        """Cancel the task; return the answer, and the task afterwards, from the same transaction.

        A look-up of its own could fail after the cancellation took effect, and its error says that nothing did.
        """

        def work(connection: Connection) -> tuple[Cancelled, Task | None]:
            answer = cancellation.cancel_within(connection, task_id, actor=self.runtime.name)
            return answer, store.find(connection, task_id)

        return transact(self.engine, work)

    def redrive(self, letter_id: int) -> bool:
        """Put the dead letter's task back to work; False: there is no such open letter."""
        actor, queue = self.runtime.name, self.settings.work_queue
        return transact(
            self.engine,
            lambda connection: dead_letter.redrive(connection, letter_id, actor=actor, work_queue=queue),
        )

    def discard(self, letter_id: int, *, why: str) -> bool:
        """Close the dead letter; False: there is no such open letter."""
        return transact(self.engine, lambda connection: dead_letter.discard(connection, letter_id, why=why))

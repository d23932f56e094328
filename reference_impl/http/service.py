"""What each request of the API does, without the HTTP around it."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

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
from reference_impl.metrics import Metrics
from reference_impl.ports import Broker, Cache, Runtime
from reference_impl.rows import cancellation as control
from reference_impl.rows import dead_letter, store
from reference_impl.rows.cancellation import Cancelled
from reference_impl.rows.submission import Submission, Submitted, submit
from reference_impl.rows.transactions import read, transact
from reference_impl.settings import Settings
from reference_impl.task import Task

STATUS_OF: dict[type[ReferenceSystemError], int] = {
    PayloadTooLarge: 413,
    RequestInvalid: 422,
    KeyConflict: 409,
    RateLimited: 429,
    DatabaseError: 503,
}
"""How HTTP spells each kind of error that a request can meet."""


def status_of(error: ReferenceSystemError) -> int:
    """The status code for an error of one of these kinds."""
    return next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF)


@dataclass(frozen=True, slots=True)
class Api:
    """What the endpoints work with. Each method may raise DatabaseError, and what else it says."""

    runtime: Runtime
    engine: Engine
    broker: Broker
    cache: Cache
    metrics: Metrics
    settings: Settings

    def submit(self, task: NewTask, *, key: str | None, trace_id: str | None) -> Submitted:
        """The task of this submission, made now or by an earlier one.

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
        return self.take_in(submission, admit)

    def take_in(self, submission: Submission, admit: Callable[[], None]) -> Submitted:
        """The task of this submission; `admit` may refuse to have it made."""
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
        """The task as its row says."""
        return read(self.engine, lambda connection: store.find(connection, task_id))

    def read(self, task_id: str) -> TaskView | None:
        """The task as its user sees it: its state from the database, its progress from Redis while it runs."""
        task = self.find(task_id)
        if task is None:
            return None
        return view(task, None if task.status.is_final else read_progress(self.cache, task_id))

    def cancel(self, task_id: str) -> tuple[Cancelled, Task | None]:
        """How the cancellation was answered, and the task after it."""
        answer = control.cancel(self.engine, task_id, actor=self.runtime.name)
        return answer, self.find(task_id)

    def redrive(self, letter_id: int) -> bool:
        """Whether this request put the dead letter's task back to work."""
        actor, queue = self.runtime.name, self.settings.work_queue
        return transact(
            self.engine,
            lambda connection: dead_letter.redrive(connection, letter_id, actor=actor, work_queue=queue),
        )

    def discard(self, letter_id: int, *, why: str) -> bool:
        """Whether this request closed the dead letter."""
        return transact(self.engine, lambda connection: dead_letter.discard(connection, letter_id, why=why))

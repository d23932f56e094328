"""Request and response bodies of the API. Requests are validated strictly."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from reference_impl.rows.database_clock import US_PER_S
from reference_impl.rows.dead_letter import DeadLetter
from reference_impl.task import Task

NAME = r"^[A-Za-z0-9._:@/+-]+$"


class NewTask(BaseModel):
    """Body of a submission."""

    model_config = ConfigDict(extra="forbid")

    user_id: Annotated[StrictStr, Field(min_length=1, max_length=64, pattern=NAME)]
    type: Annotated[StrictStr, Field(min_length=1, max_length=64, pattern=NAME)]
    payload: dict[str, Any]
    priority: Annotated[StrictInt, Field(ge=0, le=9)] = 0
    deadline_s: Annotated[float, Field(gt=0, le=366 * 86400, strict=True, allow_inf_nan=False)] | None = None


class TaskView(BaseModel):
    """A task as shown to its user; instants in seconds since the Unix epoch."""

    id: str
    status: str
    trace_id: str
    type: str
    attempt: int
    cancel_requested: bool
    created_at: float
    updated_at: float
    progress: dict[str, str] | None = None
    result: dict[str, Any] | None = None
    failure_class: str | None = None
    failure_message: str | None = None


class Refusal(BaseModel):
    """Body of an error. `definite`: the request certainly had no effect; false: it may have had, so repeat it with the same key."""

    error: str
    definite: bool


class DeadLetterView(BaseModel):
    """A dead letter as shown to an operator."""

    id: int
    task_id: str
    reason: str
    attempts: int
    failure_class: str | None
    failure_message: str | None
    created_at: float


class Discard(BaseModel):
    """Body of the request to discard a dead letter: the operator's reason."""

    model_config = ConfigDict(extra="forbid")

    why: Annotated[StrictStr, Field(min_length=1, max_length=180)]


def view(task: Task, progress: Mapping[str, str] | None = None) -> TaskView:
    """The response for a task; `progress` is None once the task has ended."""
    return TaskView(
        id=task.id,
        status=task.status,
        trace_id=task.trace_id,
        type=task.type,
        attempt=task.attempt,
        cancel_requested=task.cancel_requested,
        created_at=task.created_us / US_PER_S,
        updated_at=task.updated_us / US_PER_S,
        progress=None if progress is None else dict(progress),
        result=None if task.result is None else dict(task.result),
        failure_class=task.failure_class,
        failure_message=task.failure_message,
    )


def letter_view(letter: DeadLetter) -> DeadLetterView:
    """The response for a dead letter."""
    return DeadLetterView(
        id=letter.id,
        task_id=letter.task_id,
        reason=letter.reason,
        attempts=letter.attempts,
        failure_class=letter.failure_class,
        failure_message=letter.failure_message,
        created_at=letter.created_us / US_PER_S,
    )

"""A task and its life cycle: the states, and the transitions between them. Pure."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class TaskState(enum.StrEnum):
    """State of a task. The value is the one that the database and the API show."""

    ACCEPTED = "ACCEPTED"
    RUNNING = "RUNNING"
    WAITING_TOOL = "WAITING_TOOL"
    RETRYING = "RETRYING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    DEAD = "DEAD"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"

    @property
    def is_final(self) -> bool:
        """Whether no transition leaves the state, except an operator's redrive."""
        return self in FINAL


FINAL = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.DEAD, TaskState.CANCELLED, TaskState.EXPIRED})
WAITING = (TaskState.ACCEPTED, TaskState.RETRYING)
"""States in which no attempt is running."""
HELD = (TaskState.RUNNING, TaskState.WAITING_TOOL)
"""States in which one attempt holds the task's lease."""

TRANSITIONS: Mapping[TaskState | None, frozenset[TaskState]] = {
    None: frozenset({TaskState.ACCEPTED}),
    TaskState.ACCEPTED: frozenset({TaskState.RUNNING, TaskState.CANCELLED, TaskState.EXPIRED}),
    TaskState.RUNNING: frozenset({TaskState.WAITING_TOOL, TaskState.RETRYING}) | FINAL,
    TaskState.WAITING_TOOL: frozenset({TaskState.RUNNING, TaskState.RETRYING}) | FINAL,
    TaskState.RETRYING: frozenset({TaskState.RUNNING, TaskState.CANCELLED, TaskState.EXPIRED}),
    TaskState.DEAD: frozenset({TaskState.ACCEPTED}),
    **{state: frozenset() for state in FINAL - {TaskState.DEAD}},
}
"""The legal transitions. None: the task does not exist yet. DEAD → ACCEPTED is an operator's redrive."""


@dataclass(frozen=True, slots=True)
class Task:
    """A row of the table `tasks`. Instants are microseconds since the Unix epoch by the database's clock.

    `attempt` is the number of the latest attempt (0: none yet) and never decreases. `attempts_spent` counts the attempts against
    the budget; a redrive resets it.
    """

    id: str
    user_id: str
    type: str
    priority: int
    status: TaskState
    payload: Mapping[str, object]
    request_hash: str
    trace_id: str
    attempt: int
    attempts_spent: int
    fence: int
    cancel_requested: bool
    created_us: int
    updated_us: int
    enqueued_us: int
    deadline_us: int | None = None
    next_attempt_us: int | None = None
    lease_owner: str | None = None
    lease_expires_us: int | None = None
    last_run_us: int | None = None
    result: Mapping[str, object] | None = None
    failure_class: str | None = None
    failure_message: str | None = None

    def has_used_up(self, attempts_max: int) -> bool:
        """Whether it gets no further attempt: `attempts_spent` has reached `attempts_max`."""
        return self.attempts_spent >= attempts_max


@dataclass(slots=True)
class Claim:
    """The hold of one attempt on a task: its fence proves to the database that no later attempt has taken over.

    `held_until_s`: until this instant of the process's monotonic clock the lease is certainly valid; the heartbeat extends it.
    The heartbeat also sets `lost` and `cancel_requested`, from what it reads in the database.
    """

    task: Task
    owner: str
    held_until_s: float
    lost: bool = False
    cancel_requested: bool = False

    @property
    def fence(self) -> int:
        """Fencing token that the task got with the claim."""
        return self.task.fence

    @property
    def attempt(self) -> int:
        """Attempt number that the task got with the claim."""
        return self.task.attempt

"""A task and its one life cycle: the states, and which may follow which. Pure."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class TaskState(enum.StrEnum):
    """Where a task is in its life; the value is what the database and the API show."""

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
        """Whether nothing but a person's redrive leads out of it."""
        return self in FINAL


FINAL = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.DEAD, TaskState.CANCELLED, TaskState.EXPIRED})
WAITING = (TaskState.ACCEPTED, TaskState.RETRYING)
"""States in which nobody works on the task."""
HELD = (TaskState.RUNNING, TaskState.WAITING_TOOL)
"""States in which one attempt holds the task's lease."""

LEGAL_MOVES: Mapping[TaskState | None, frozenset[TaskState]] = {
    None: frozenset({TaskState.ACCEPTED}),
    TaskState.ACCEPTED: frozenset({TaskState.RUNNING, TaskState.CANCELLED, TaskState.EXPIRED}),
    TaskState.RUNNING: frozenset({TaskState.WAITING_TOOL, TaskState.RETRYING}) | FINAL,
    TaskState.WAITING_TOOL: frozenset({TaskState.RUNNING, TaskState.RETRYING}) | FINAL,
    TaskState.RETRYING: frozenset({TaskState.RUNNING, TaskState.CANCELLED, TaskState.EXPIRED}),
    TaskState.DEAD: frozenset({TaskState.ACCEPTED}),
    **{state: frozenset() for state in FINAL - {TaskState.DEAD}},
}
"""What may follow what; None stands before the task exists. DEAD → ACCEPTED is a person's redrive."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task as its row says; instants are microseconds since the Unix epoch by the database's clock.

    `attempt` numbers the latest attempt from 1 (0: none yet) and never goes back; `attempts_spent` is how many of them count
    against the budget, which a redrive gives back.
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


@dataclass(slots=True)
class Claim:
    """One attempt's hold on a task: what it may show to prove that it still is the one.

    `held_until_s` is the latest instant of this process's monotonic clock at which the lease surely had not run out; the
    heartbeat moves it on. `lost` and `cancel_requested` are set by the heartbeat when the database says so.
    """

    task: Task
    owner: str
    held_until_s: float
    lost: bool = False
    cancel_requested: bool = False

    @property
    def fence(self) -> int:
        """That the task got with the claim."""
        return self.task.fence

    @property
    def attempt(self) -> int:
        """The number that the task got with the claim."""
        return self.task.attempt

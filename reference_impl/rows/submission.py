"""Submitting a task: one transaction inserts its row, its audit row and its message, once per user and key (R8)."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from reference_impl.errors import CommitUnknown, DatabaseUnavailable, KeyConflict, PayloadTooLarge, RequestInvalid
from reference_impl.ports import Entropy
from reference_impl.rows import outbox, store
from reference_impl.rows.document import document
from reference_impl.rows.store import NewRow
from reference_impl.rows.transactions import read, transact
from reference_impl.task import Task

TRIES_MAX = 3
"""A submission is idempotent, so it is retried after a commit whose reply was lost."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A client's request for a new task; `deadline_s` counts from now."""

    user_id: str
    type: str
    payload: Mapping[str, object]
    priority: int = 0
    key: str | None = None
    deadline_s: float | None = None
    trace_id: str | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The task of a submission, and whether this call created it."""

    task: Task
    created: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """A validated submission, as the row that it will become. Nothing is in the database yet."""

    row: NewRow

    def find(self, connection: Connection) -> Task | None:
        """The existing task of this user and key, or None."""
        return store.find_by_key(connection, self.row.user_id, self.row.request_key)

    def create(self, connection: Connection, *, actor: str, work_queue: str) -> Task:
        """Insert the task and its message.

        Raises:
            sqlalchemy.exc.IntegrityError: another task of this user has this key.
        """
        row = self.row
        store.insert_accepted(connection, row, actor=actor)
        outbox.put(connection, row.id, work_queue, trace_id=row.trace_id)
        task = store.find(connection, row.id)
        assert task is not None, "a row just inserted is there"
        return task

    def submitted_as(self, task: Task) -> Submitted:
        """The answer to this submission, given the task of this user and key.

        Raises:
            KeyConflict: the key was used for a different request.
        """
        if task.request_hash != self.row.request_hash:
            raise KeyConflict(task.id)
        return Submitted(task, created=task.id == self.row.id)


def prepare(entropy: Entropy, submission: Submission, *, payload_bytes_max: int) -> Draft:
    """Validate a submission and give it a new id.

    Raises:
        PayloadTooLarge, RequestInvalid: the submission is not a valid task.
    """
    payload = _checked_payload(submission.payload, payload_bytes_max)
    request_hash = _request_hash(submission, payload)
    row = NewRow(
        id=entropy.identifier(),
        user_id=submission.user_id,
        type=submission.type,
        priority=submission.priority,
        request_key=request_hash if submission.key is None else _hash(f"key\n{submission.key}"),
        request_hash=request_hash,
        payload=payload,
        trace_id=submission.trace_id or entropy.identifier(),
        deadline_s=submission.deadline_s,
    )
    return Draft(row)


def submit(
    engine: Engine,
    entropy: Entropy,
    submission: Submission,
    *,
    actor: str,
    work_queue: str,
    payload_bytes_max: int,
    admit: Callable[[], None] = lambda: None,
) -> Submitted:
    """The task of this user and key, created by this call or by an earlier submission.

    `admit` may raise to refuse a new task. It is not called if the task already exists, so that repeating a submission does not
    count against the limit of new tasks.

    Raises:
        SubmissionRefused: nothing was created. KeyConflict: the key was used for a different request.
        DatabaseError: as `transact`; CommitUnknown only after several tries.
    """
    draft = prepare(entropy, submission, payload_bytes_max=payload_bytes_max)

    def find_or_create(connection: Connection) -> Task:
        return draft.find(connection) or draft.create(connection, actor=actor, work_queue=work_queue)

    task = read(engine, draft.find)
    if task is None:
        admit()
        task = _transact_retrying(engine, find_or_create)
    return draft.submitted_as(task)


def _transact_retrying(engine: Engine, find_or_create: Callable[[Connection], Task]) -> Task:
    unknown: CommitUnknown | None = None
    for _ in range(TRIES_MAX):
        try:
            return transact(engine, find_or_create)
        except CommitUnknown as error:
            unknown = error
        except DatabaseUnavailable as error:
            if unknown is not None:
                raise unknown from error  # this try had no effect, but an earlier one may have created the task
            raise
        except IntegrityError:
            continue  # a concurrent submission inserted the same key after our look-up: the next look-up finds its task
    raise unknown or DatabaseUnavailable("another client keeps submitting the same key")


def _request_hash(submission: Submission, payload: str) -> str:
    """Hash of every field that determines the work, its priority and its deadline."""
    rest = document([submission.type, submission.priority, submission.deadline_s])
    return _hash(f"request\n{rest}\n{payload}")


def _checked_payload(payload: Mapping[str, object], payload_bytes_max: int) -> str:
    try:
        text = document(payload)
    except ValueError as error:
        raise RequestInvalid(f"the payload cannot be stored: {error}") from error
    if len(text) > payload_bytes_max:
        raise PayloadTooLarge(len(text), payload_bytes_max)
    return text


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

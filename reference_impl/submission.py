"""Submitting a task: its row, its audit row and its message in one transaction, once per user and key (R8)."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from reference_impl import outbox, store
from reference_impl.errors import CommitUnknown, DatabaseUnavailable, KeyConflict, PayloadTooLarge, RequestInvalid
from reference_impl.ports import Entropy
from reference_impl.task import Task
from reference_impl.transactions import transact

TRIES_MAX = 3
"""Submitting is idempotent, so a commit whose answer was lost is simply submitted again."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What a client asks for; `deadline_s` counts from now."""

    user_id: str
    type: str
    payload: Mapping[str, object]
    priority: int = 0
    key: str | None = None
    deadline_s: float | None = None
    trace_id: str | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The task that stands for the submission, and whether this call created it."""

    task: Task
    created: bool


def submit(
    engine: Engine, entropy: Entropy, submission: Submission, *, actor: str, work_queue: str, payload_bytes_max: int
) -> Submitted:
    """The task of this user and key, created now or by an earlier submission.

    Raises:
        PayloadTooLarge, RequestInvalid: nothing was created.
        KeyConflict: the key belongs to another request.
        DatabaseError: as `transact`; CommitUnknown only after several tries.
    """
    payload = _checked_payload(submission.payload, payload_bytes_max)
    request_hash = _hash(f"{submission.type}\n{payload}")
    request_key = request_hash if submission.key is None else _hash(f"key\n{submission.key}")
    task_id = entropy.identifier()
    values = {
        "id": task_id,
        "user_id": submission.user_id,
        "type": submission.type,
        "priority": submission.priority,
        "request_key": request_key,
        "request_hash": request_hash,
        "payload": payload,
        "trace_id": submission.trace_id or entropy.identifier(),
    }

    def work(connection: Connection) -> Task:
        task = store.find_by_key(connection, submission.user_id, request_key)
        if task is None:
            store.insert_accepted(connection, values, deadline_s=submission.deadline_s, actor=actor)
            outbox.put(connection, task_id, work_queue, trace_id=str(values["trace_id"]))
            task = store.find(connection, task_id)
        assert task is not None, "a row just inserted is there"
        return task

    task = _submitted_once(engine, work)
    if task.request_hash != request_hash:
        raise KeyConflict(task.id)
    return Submitted(task, created=task.id == task_id)


def _submitted_once(engine: Engine, work: Callable[[Connection], Task]) -> Task:
    for attempt in range(1, TRIES_MAX + 1):
        try:
            return transact(engine, work)
        except IntegrityError as error:
            # Another submission with this key came in between the look and the insert: the next look finds its task.
            if attempt == TRIES_MAX:
                raise DatabaseUnavailable("the same key is being submitted over and over") from error
        except CommitUnknown:
            if attempt == TRIES_MAX:
                raise
    raise AssertionError("the last try either returned or raised")


def _checked_payload(payload: Mapping[str, object], payload_bytes_max: int) -> str:
    try:
        kept = store.document(payload)
    except ValueError as error:
        raise RequestInvalid(f"the payload cannot be kept: {error}") from error
    if len(kept) > payload_bytes_max:
        raise PayloadTooLarge(len(kept), payload_bytes_max)
    return kept


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

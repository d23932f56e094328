"""Submitting a task: its row, its audit row and its message in one transaction, once per user and key (R8)."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from reference_impl.errors import CommitUnknown, DatabaseUnavailable, KeyConflict, PayloadTooLarge, RequestInvalid
from reference_impl.ports import Entropy
from reference_impl.rows import outbox, store
from reference_impl.rows.transactions import read, transact
from reference_impl.task import Task

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


@dataclass(frozen=True, slots=True)
class Draft:
    """A submission, checked and worked out, of which nothing is in the database yet: `values` are those of its row."""

    submission: Submission
    values: Mapping[str, object]

    def find(self, connection: Connection) -> Task | None:
        """The task of this user and key, if there is one."""
        return store.find_by_key(connection, self.submission.user_id, str(self.values["request_key"]))

    def create(self, connection: Connection, *, actor: str, work_queue: str) -> Task:
        """The task, with its message.

        Raises:
            sqlalchemy.exc.IntegrityError: this user's key is taken.
        """
        task_id = str(self.values["id"])
        store.insert_accepted(connection, self.values, deadline_s=self.submission.deadline_s, actor=actor)
        outbox.put(connection, task_id, work_queue, trace_id=str(self.values["trace_id"]))
        task = store.find(connection, task_id)
        assert task is not None, "a row just inserted is there"
        return task

    def stands_for(self, task: Task) -> Submitted:
        """The task as the answer to this submission.

        Raises:
            KeyConflict: the key belongs to another request.
        """
        if task.request_hash != self.values["request_hash"]:
            raise KeyConflict(task.id)
        return Submitted(task, created=task.id == self.values["id"])


def prepare(entropy: Entropy, submission: Submission, *, payload_bytes_max: int) -> Draft:
    """The draft of a submission, with a new id.

    Raises:
        PayloadTooLarge, RequestInvalid: it cannot be a task.
    """
    payload = _checked_payload(submission.payload, payload_bytes_max)
    request_hash = _request_hash(submission, payload)
    values = {
        "id": entropy.identifier(),
        "user_id": submission.user_id,
        "type": submission.type,
        "priority": submission.priority,
        "request_key": request_hash if submission.key is None else _hash(f"key\n{submission.key}"),
        "request_hash": request_hash,
        "payload": payload,
        "trace_id": submission.trace_id or entropy.identifier(),
    }
    return Draft(submission, values)


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
    """The task of this user and key, created now or by an earlier submission.

    `admit` is called before anything is created, if as far as is known nothing has been: a client that only asks again what
    became of its submission is not held to a limit of new tasks. It may refuse.

    Raises:
        SubmissionRefused: nothing was created. KeyConflict: the key belongs to another request.
        DatabaseError: as `transact`; CommitUnknown only after several tries.
    """
    draft = prepare(entropy, submission, payload_bytes_max=payload_bytes_max)

    def find_or_create(connection: Connection) -> Task:
        return draft.find(connection) or draft.create(connection, actor=actor, work_queue=work_queue)

    task = read(engine, draft.find)
    if task is None:
        admit()
        task = _once(engine, find_or_create)
    return draft.stands_for(task)


def _once(engine: Engine, find_or_create: Callable[[Connection], Task]) -> Task:
    unknown: CommitUnknown | None = None
    for _ in range(TRIES_MAX):
        try:
            return transact(engine, find_or_create)
        except CommitUnknown as error:
            unknown = error
        except DatabaseUnavailable as error:
            if unknown is not None:
                raise unknown from error  # this try did nothing, but an earlier one may have created the task
            raise
        except IntegrityError:
            continue  # another submission with this key came in between the look and the insert: the next look finds its task
    raise unknown or DatabaseUnavailable("the same key is being submitted over and over")


def _request_hash(submission: Submission, payload: str) -> str:
    """The same for the same request: all that decides what is run, when and until when."""
    rest = store.document([submission.type, submission.priority, submission.deadline_s])
    return _hash(f"request\n{rest}\n{payload}")


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

"""The message is sent beside the transaction, after its commit: a crash in between, and the task waits for ever."""

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection

from reference_impl.bootstrap import Parts
from reference_impl.http.service import Api
from reference_impl.ports import Message
from reference_impl.rows import store
from reference_impl.rows.store import document
from reference_impl.rows.submission import Draft, Submission, Submitted, prepare
from reference_impl.rows.transactions import transact
from reference_impl.task import Task
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant


class ApiWithoutOutbox(Api):
    """Writes the row, then sends the message; hopes for the best in between."""

    __slots__ = ()

    def take_in(self, submission: Submission, admit: Callable[[], None]) -> Submitted:
        """See reference_impl.http.service.Api."""
        admit()
        draft = prepare(self.runtime.entropy, submission, payload_bytes_max=self.settings.payload_bytes_max)
        actor = self.runtime.name
        submitted = draft.stands_for(
            transact(self.engine, lambda connection: _find_or_insert(connection, draft, actor))
        )
        if submitted.created:
            self._send(submitted.task)
        return submitted

    def _send(self, task: Task) -> None:
        body = document({"task_id": task.id, "trace_id": task.trace_id}).encode()
        publisher = self.broker.open_publisher()
        publisher.publish([Message(task.id, self.settings.work_queue, body)], timeout_s=self.settings.confirm_timeout_s)
        publisher.close()


def _find_or_insert(connection: Connection, draft: Draft, actor: str) -> Task:
    found = draft.find(connection)
    if found is not None:
        return found
    store.insert_accepted(connection, draft.values, deadline_s=draft.submission.deadline_s, actor=actor)
    created = store.find(connection, str(draft.values["id"]))
    assert created is not None, "a row just inserted is there"
    return created


def alter(parts: Parts) -> Parts:
    """With that API."""
    return replace(parts, kinds=replace(parts.kinds, api=ApiWithoutOutbox))


system = Mutant(
    name="no_outbox",
    defect="the message is sent after the transaction instead of within it",
    expected=(Guarantee.OUTBOX_ATOMIC, Guarantee.NO_STUCK_TASK),
    alter=alter,
)

"""Defect: the message is published after the commit instead of through the outbox. A crash in between leaves the task waiting forever."""

from collections.abc import Callable

from sqlalchemy import Connection

from reference_impl.http.service import Api
from reference_impl.ports import Message
from reference_impl.rows import store
from reference_impl.rows.document import document
from reference_impl.rows.submission import Draft, Submission, Submitted, prepare
from reference_impl.rows.transactions import transact
from reference_impl.task import Task
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Mutant, with_classes


class NoOutboxApi(Api):
    """Commits the row, then publishes the message."""

    __slots__ = ()

    def find_or_create(self, submission: Submission, admit: Callable[[], None]) -> Submitted:
        """Insert the task, then publish its message."""
        admit()
        draft = prepare(self.runtime.entropy, submission, payload_bytes_max=self.settings.payload_bytes_max)
        actor = self.runtime.name
        submitted = draft.submitted_as(
            transact(self.engine, lambda connection: _find_or_insert(connection, draft, actor))
        )
        if submitted.created:
            self._publish(submitted.task)
        return submitted

    def _publish(self, task: Task) -> None:
        body = document({"task_id": task.id, "trace_id": task.trace_id}).encode()
        publisher = self.broker.open_publisher()
        publisher.publish([Message(task.id, self.settings.work_queue, body)], timeout_s=self.settings.confirm_timeout_s)
        publisher.close()


def _find_or_insert(connection: Connection, draft: Draft, actor: str) -> Task:
    found = draft.find(connection)
    if found is not None:
        return found
    store.insert_accepted(connection, draft.row, actor=actor)
    created = store.find(connection, draft.row.id)
    assert created is not None, "a row just inserted is there"
    return created


system = Mutant(
    name="no_outbox",
    defect="the message is published after the transaction instead of being written in it",
    expected=(Guarantee.OUTBOX_ATOMIC, Guarantee.NO_STUCK_TASK),
    patch=with_classes(api=NoOutboxApi),
)

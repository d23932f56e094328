"""Defect: a commit whose reply is lost is reported as a definite failure. The client assumes that there is no task, but it runs."""

from collections.abc import Callable

from sqlalchemy import Connection

from reference_impl.errors import CommitUnknown, DatabaseUnavailable
from reference_impl.http.service import Api
from reference_impl.rows.submission import Submission, Submitted, prepare
from reference_impl.rows.transactions import transact
from reference_impl.task import Task
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Mutant, with_classes


class LostReplyApi(Api):
    """Reports a lost reply as a definite failure."""

    __slots__ = ()

    def find_or_create(self, submission: Submission, admit: Callable[[], None]) -> Submitted:
        """Create the task once, without retrying after a lost reply."""
        admit()
        settings, actor = self.settings, self.runtime.name
        draft = prepare(self.runtime.entropy, submission, payload_bytes_max=settings.payload_bytes_max)

        def find_or_create(connection: Connection) -> Task:
            return draft.find(connection) or draft.create(connection, actor=actor, work_queue=settings.work_queue)

        try:
            return draft.submitted_as(transact(self.engine, find_or_create))
        except CommitUnknown as error:
            raise DatabaseUnavailable(str(error)) from error


system = Mutant(
    name="silence_taken_for_no",
    defect="a commit whose reply was lost is reported to the client as a definite failure",
    expected=(Guarantee.NO_PHANTOM_TASK,),
    patch=with_classes(api=LostReplyApi),
)

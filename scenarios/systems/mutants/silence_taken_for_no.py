"""A commit whose answer is lost is reported as a failure, for sure: the client is told that nothing happened, and the task runs."""

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection

from reference_impl.bootstrap import Parts
from reference_impl.errors import CommitUnknown, DatabaseUnavailable
from reference_impl.http.service import Api
from reference_impl.rows.submission import Submission, Submitted, prepare
from reference_impl.rows.transactions import transact
from reference_impl.task import Task
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant


class ApiThatTakesSilenceForNo(Api):
    """Believes that what it did not hear of did not happen."""

    __slots__ = ()

    def take_in(self, submission: Submission, admit: Callable[[], None]) -> Submitted:
        """See reference_impl.http.service.Api."""
        admit()
        settings, actor = self.settings, self.runtime.name
        draft = prepare(self.runtime.entropy, submission, payload_bytes_max=settings.payload_bytes_max)

        def find_or_create(connection: Connection) -> Task:
            return draft.find(connection) or draft.create(connection, actor=actor, work_queue=settings.work_queue)

        try:
            return draft.stands_for(transact(self.engine, find_or_create))
        except CommitUnknown as error:
            raise DatabaseUnavailable(str(error)) from error


def alter(parts: Parts) -> Parts:
    """With that API."""
    return replace(parts, kinds=replace(parts.kinds, api=ApiThatTakesSilenceForNo))


system = Mutant(
    name="silence_taken_for_no",
    defect="a commit whose answer was lost is reported to the client as a definite failure",
    expected=(Guarantee.NO_PHANTOM_TASK,),
    alter=alter,
)

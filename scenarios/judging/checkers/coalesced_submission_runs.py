"""Where `policy.coalesce`: a submission that was folded into a task that had already started is followed by a start (rule 25).

Folded: answered with the id of a task of its user and key that had started before the submission began. A start of any
task of that key after it is enough. The witness is the submission's task.
"""

from collections.abc import Iterator

from scenarios.judging.keys import Submission, submissions_of
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, History


def check(history: History, policy: Policy) -> Findings:
    """Folded submissions that were not followed by a start."""
    violations = []
    exercised = 0
    for named in history.key_events:
        submissions = list(submissions_of(history.key_events[named]))
        last_starts_ns = (
            attempt.started_ns for one in submissions for attempt in history.tasks[one.task].attempts[-1:]
        )
        latest_ns = max(last_starts_ns, default=-FOREVER_NS)
        for folded in _folded(history, submissions):
            exercised += 1
            if latest_ns <= folded.began_ns and not _is_closed(history, folded):
                what = "folded into a task that had already started, and nothing of its key started after it"
                violations.append(Violation(folded.task, Proof.END, what))
    if not policy.coalesce:
        unsaid = exercised and policy.coalesce is None
        return Findings(undecided="the policy does not state coalesce" if unsaid else "")
    figures = {"folded": exercised, "without_a_start": len(violations)}
    return Findings(tuple(violations), exercised=exercised, figures=figures)


def _folded(history: History, submissions: list[Submission]) -> Iterator[Submission]:
    first_start_ns: dict[str, int] = {}
    for one in submissions:
        if one.id is not None:
            if first_start_ns.get(one.id, FOREVER_NS) < one.began_ns:
                yield one
            starts_ns = [attempt.started_ns for attempt in history.tasks[one.task].attempts[:1]]
            first_start_ns[one.id] = min([*starts_ns, first_start_ns.get(one.id, FOREVER_NS)])


def _is_closed(history: History, folded: Submission) -> bool:
    """Whether the submission was cancelled after it had been folded in."""
    return any(instant >= folded.began_ns for instant in history.tasks[folded.task].cancels_ns[-1:])

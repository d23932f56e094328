"""With `policy.coalesce`: a submission coalesced into a task that had already started is followed by a start (rule 25).

Coalesced: answered with the id of a task of its user and key that had started before the submission began. A later start of any task
of that key is enough. The witness is the submission's task. A submission that began after such a start and got an id of its own is
another submission; it exercises the promise as well.
"""

from collections.abc import Iterator

from scenarios.judging.keys import Submission, submissions_of
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, History


def check(history: History, policy: Policy) -> Findings:
    """Coalesced submissions that were not followed by a start."""
    violations = []
    exercised = coalesced_count = 0
    for named in history.key_events:
        submissions = list(submissions_of(history.key_events[named]))
        exercised += _separate(history, submissions)
        last_starts_ns = (
            attempt.started_ns for one in submissions for attempt in history.tasks[one.task].attempts[-1:]
        )
        latest_ns = max(last_starts_ns, default=-FOREVER_NS)
        for coalesced in _coalesced(history, submissions):
            coalesced_count += 1
            if latest_ns <= coalesced.began_ns and not _is_cancelled(history, coalesced):
                what = "coalesced into a task that had already started, but no task of its key started after it"
                violations.append(Violation(coalesced.task, Proof.END, what))
    if not policy.coalesce:
        unsaid = coalesced_count and policy.coalesce is None
        return Findings(undecided="the policy does not state coalesce" if unsaid else "")
    figures = {"folded": coalesced_count, "without_a_start": len(violations)}
    return Findings(tuple(violations), exercised=exercised + coalesced_count, figures=figures)


def _separate(history: History, submissions: list[Submission]) -> int:
    """How many began after a task of their key had started, and were answered with an id that none before them had."""
    known: set[str] = set()
    started_ns = FOREVER_NS
    count = 0
    for one in submissions:
        if one.id is None:
            continue
        count += one.id not in known and started_ns < one.began_ns
        known.add(one.id)
        started_ns = min([started_ns, *(it.started_ns for it in history.tasks[one.task].attempts[:1])])
    return count


def _coalesced(history: History, submissions: list[Submission]) -> Iterator[Submission]:
    first_start_ns: dict[str, int] = {}
    for one in submissions:
        if one.id is not None:
            if first_start_ns.get(one.id, FOREVER_NS) < one.began_ns:
                yield one
            starts_ns = [attempt.started_ns for attempt in history.tasks[one.task].attempts[:1]]
            first_start_ns[one.id] = min([*starts_ns, first_start_ns.get(one.id, FOREVER_NS)])


def _is_cancelled(history: History, coalesced: Submission) -> bool:
    """Whether the task was cancelled after this submission."""
    return any(instant >= coalesced.began_ns for instant in history.tasks[coalesced.task].cancels_ns[-1:])

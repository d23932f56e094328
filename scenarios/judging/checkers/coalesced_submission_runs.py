"""Where `policy.coalesce`: a submission that was folded into a task that had already started is followed by a start (rule 25).

Folded: answered with the id of a task of its user and key that had started before the submission began. A start of any
task of that key after it is enough. The witness is the submission's task. One that began after such a start and was answered with an
id of its own was put to the test as well, and is another submission.
"""

from collections.abc import Iterator

from scenarios.judging.keys import Submission, submissions_of
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, History


def check(history: History, policy: Policy) -> Findings:
    """Folded submissions that were not followed by a start."""
    violations = []
    exercised = folded_count = 0
    for named in history.key_events:
        submissions = list(submissions_of(history.key_events[named]))
        exercised += _separate(history, submissions)
        for folded in _folded(history, submissions):
            folded_count += 1
            starts = (attempt.started_ns for one in submissions for attempt in history.tasks[one.task].attempts)
            if not any(started_ns > folded.began_ns for started_ns in starts) and not _is_closed(history, folded):
                what = "folded into a task that had already started, and nothing of its key started after it"
                violations.append(Violation(folded.task, Proof.END, what))
    if not policy.coalesce:
        unsaid = folded_count and policy.coalesce is None
        return Findings(undecided="the policy does not state coalesce" if unsaid else "")
    figures = {"folded": folded_count, "without_a_start": len(violations)}
    return Findings(tuple(violations), exercised=exercised + folded_count, figures=figures)


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
        started_ns = min([started_ns, *(it.started_ns for it in history.tasks[one.task].attempts)])
    return count


def _folded(history: History, submissions: list[Submission]) -> Iterator[Submission]:
    first_start_ns: dict[str, int] = {}
    for one in submissions:
        if one.id is not None:
            if first_start_ns.get(one.id, FOREVER_NS) < one.began_ns:
                yield one
            started_ns = min((it.started_ns for it in history.tasks[one.task].attempts), default=FOREVER_NS)
            first_start_ns[one.id] = min(started_ns, first_start_ns.get(one.id, FOREVER_NS))


def _is_closed(history: History, folded: Submission) -> bool:
    """Whether the submission was cancelled after it had been folded in."""
    return any(instant >= folded.began_ns for instant in history.tasks[folded.task].cancels_ns)

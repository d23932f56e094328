"""A task is lost if it was acknowledged, is not done, and is in no list of the final account (rule 3).

If the system cannot list such tasks, a dead letter, a cancellation, the audit trail, or DEAD or FAILED as the last status that was
read, if no attempt began after it, is enough to show that a task ended. A resubmission (same user, key and id) is the first task,
not another one. Lost is also a task that a done task demanded of the system (`children` of its `attempt.ok`; `then`, if all
children are listed as done) and that is neither in the history nor in any list.
"""

from collections.abc import Iterator

from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import reconcile
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks that vanished."""
    reconciliation = reconcile(history, policy)
    acknowledged = sum(timeline.acknowledged > 0 for timeline in history.tasks.values())
    what = "acknowledged, not done, and in no list of the account"
    unmade = sorted({task for timeline in history.tasks.values() for task in _unmade(history, timeline)})
    violations = [Violation(task, Proof.END, what) for task in reconciliation.lost]
    violations += [Violation(task, Proof.END, "demanded by a task that is done, and never made") for task in unmade]
    return Findings(
        tuple(violations),
        exercised=acknowledged,
        undecided=reconciliation.contradiction,
        figures={"acknowledged": acknowledged, "lost": len(violations)},
    )


def _unmade(history: History, timeline: TaskTimeline) -> Iterator[str]:
    """The tasks that this one demanded and that no event has shown since."""
    demanded, final, lists = timeline.handed_back, history.final, history.lists
    if demanded is None or final is None or (final.done is not None and timeline.task not in lists.done):
        return
    seen = lists.done | lists.dead | lists.cancelled | lists.expired | lists.pending
    children = demanded.children or ()
    names = [*children, demanded.then] if demanded.then and lists.done.issuperset(children) else children
    for name in names:
        if name is not None and name not in history.tasks and name not in seen:
            yield name

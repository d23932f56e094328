"""A result that a client reads with state SUCCEEDED is that of an attempt that ended ok (rule 25). The witness is the task.

`attempt.ok` and `status` may carry `result`, a digest. If a success was recorded without one, its result is unknown and not judged.
"""

import json

from scenarios.judging.lateness import answered_by
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks whose clients read a result that no attempt returned."""
    violations = []
    reads = 0
    exercised = 0
    for timeline in history.tasks.values():
        read = [one.result for one in timeline.statuses if one.state == "SUCCEEDED" and one.result is not None]
        if not read:
            continue
        reads += len(read)
        returned = _returned(history, timeline) if history.records_ends else None
        if returned is None:
            continue
        exercised += 1
        wrong = [result for result in read if _text(result) not in returned]
        if wrong:
            what = f"a client read the result {wrong[0]!r}, which no attempt that ended ok returned"
            violations.append(Violation(timeline.task, Proof.RECORD, what))
    figures = {"results_read": reads, "untruthful": len(violations)}
    return Findings(tuple(violations), exercised=exercised, figures=figures)


def _returned(history: History, timeline: TaskTimeline) -> list[str] | None:
    """What its successful attempts returned, or those of the task that its submission was answered with; None: one does not say."""
    lines = [timeline, *(history.tasks[other] for other in answered_by(history, timeline))]
    results = [one.result for line in lines for one in line.attempts if one.outcome == "ok"]
    if None in results or (not results and any(line.succeeded for line in lines)):
        return None
    return [_text(result) for result in results]


def _text(result: object) -> str:
    """As text, because 1 and "1" are the same digest."""
    return result if isinstance(result, str) else json.dumps(result)

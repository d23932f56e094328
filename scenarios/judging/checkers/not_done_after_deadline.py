"""A task that has not succeeded by `deadline_s` does not end as done, where `policy.ends_at_deadline` says so.

If there are rows, the first row SUCCEEDED comes no later than the deadline and `tolerance_s`. If there are none, a task that is listed as
done has an attempt that ended ok by then. Where submissions of a task differ, the latest deadline counts.

Nor does it expire before: no row EXPIRED more than `tolerance_s` before the earliest deadline, counted from its first submission.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import NS_PER_S, History, TaskTimeline, earliest_ns, ns_of


def check(history: History, policy: Policy) -> Findings:
    """Tasks that ended as done after their deadline, or as expired before it."""
    if not policy.ends_at_deadline:
        return Findings(undecided="the policy does not state ends_at_deadline")
    violations: list[Violation] = []
    exercised = 0
    for timeline in history.tasks.values():
        deadline_s = timeline.deadline_s
        if deadline_s is None:
            continue
        exercised += 1
        tolerance_ns = ns_of(policy.tolerance_s or 0.0)
        found = _late_success(history, timeline, ns_of(deadline_s) + tolerance_ns, ns_of(deadline_s))
        found = found or _early_end(timeline, tolerance_ns)
        if found is not None:
            violations.append(found)
    figures = {"with_deadline": exercised, "done_late": len(violations)}
    return Findings(tuple(violations), exercised=exercised, figures=figures)


def _late_success(history: History, timeline: TaskTimeline, bound_ns: int, deadline_ns: int) -> Violation | None:
    rows = [row for row in timeline.states if row.to == "SUCCEEDED"]
    if rows:
        first_ns = earliest_ns(rows[0])
        proof = Proof.EVENTS
    else:
        ends_ns = [one.ended_ns for one in timeline.attempts if one.outcome == "ok" and one.ended_ns is not None]
        if not ends_ns or timeline.task not in history.lists.done:
            return None
        first_ns = min(ends_ns)
        proof = Proof.END
    if first_ns <= bound_ns:
        return None
    return Violation(timeline.task, proof, f"done {(first_ns - deadline_ns) / NS_PER_S:.3g} s after its deadline")


def _early_end(timeline: TaskTimeline, tolerance_ns: int) -> Violation | None:
    deadline_ns = timeline.earliest_deadline_ns
    first_ns = min((row.t_ns for row in timeline.states if row.to == "EXPIRED"), default=None)
    if first_ns is None or deadline_ns is None or first_ns + tolerance_ns >= deadline_ns:
        return None
    return Violation(
        timeline.task, Proof.EVENTS, f"expired {(deadline_ns - first_ns) / NS_PER_S:.3g} s before its deadline"
    )

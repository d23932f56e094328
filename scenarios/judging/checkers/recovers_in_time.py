"""After the last `fault.healed` the system catches up within `policy.budget_s` (rules 17 and 18).

Witnesses are the tasks with an attempt that ended, or that were still pending, more than `budget_s` later; for tasks acknowledged, due
or redriven after the healing, the budget begins then. A task that waits rightly at the end is no witness. The lab's own waiting time
proves nothing.
"""

from scenarios.judging.lateness import AllowedDelays, closed_ns, is_awaited
from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import waits_rightly
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, NS_PER_S, History, TaskTimeline, ns_of


def check(history: History, policy: Policy) -> Findings:
    """Tasks that were still running or waiting after the budget."""
    if not history.faults:
        return Findings()
    if any(span.healed_ns == FOREVER_NS for span in history.faults):
        return Findings(undecided="a fault was never seen to heal")
    healed_ns = max(span.healed_ns for span in history.faults)
    final_ns = None if history.final is None else history.final.t_ns
    ends = [instant for instant in (history.last_end_ns, final_ns) if instant is not None]
    recovery_s = max(0, min(ends, default=history.end_ns) - healed_ns) / NS_PER_S
    figures = {"recovery_s": recovery_s}
    exercised = len(history.faults)
    if policy.budget_s is None:
        undecided = f"the policy states no budget_s; it took {recovery_s:.3g} s"
        return Findings(exercised=exercised, undecided=undecided, figures=figures)
    allowed = AllowedDelays(history, policy)
    budget_ns = ns_of(policy.budget_s)
    violations = []
    for timeline in history.tasks.values():
        found = _late(history, allowed, timeline, policy, _since_ns(timeline, healed_ns), budget_ns)
        if found is not None:
            violations.append(found)
    return Findings(tuple(violations), exercised=exercised, figures=figures)


def _since_ns(timeline: TaskTimeline, healed_ns: int) -> int:
    """When the budget of this task begins."""
    since_ns = timeline.acknowledged_ns
    ready_ns = since_ns if since_ns != FOREVER_NS else (timeline.invoked_ns if timeline.submissions else healed_ns)
    if timeline.due_s is not None:
        ready_ns = max(ready_ns, ns_of(timeline.due_s[1]))
    if timeline.redrives_ns:
        ready_ns = max(ready_ns, timeline.redrives_ns[-1])
    return max(healed_ns, ready_ns)


def _late(
    history: History, allowed: AllowedDelays, timeline: TaskTimeline, policy: Policy, since_ns: int, budget_ns: int
) -> Violation | None:
    limit_ns = since_ns + budget_ns
    worked_ns = _last_work_ns(history, timeline)
    if worked_ns > limit_ns and worked_ns > allowed.extended_ns(timeline, limit_ns, since_ns + 1, worked_ns):
        what = f"still running {(worked_ns - since_ns) / NS_PER_S:.3g} s after the last healing, or its submission"
        return Violation(timeline.task, Proof.EVENTS, f"{what}; the budget is {policy.budget_s:g} s")
    end_ns = history.end_ns
    if end_ns <= limit_ns or not _is_unfinished(history, allowed, timeline, policy):
        return None
    latest_ns = allowed.extended_ns(timeline, limit_ns, since_ns + 1, end_ns)
    if end_ns <= latest_ns or closed_ns(history, timeline) <= latest_ns:
        return None
    what = f"still pending {(end_ns - since_ns) / NS_PER_S:.3g} s after the last healing, or its submission"
    return Violation(timeline.task, Proof.RECORD, f"{what}; the budget is {policy.budget_s:g} s")


def _last_work_ns(history: History, timeline: TaskTimeline) -> int:
    """When its last attempt ended; in a history without ends of attempts, when it had its last effect."""
    if history.records_ends:
        return max((one.ended_ns for one in timeline.attempts if one.ended_ns is not None), default=-FOREVER_NS)
    return timeline.effects[-1].t_ns if timeline.effects else -FOREVER_NS


def _is_unfinished(history: History, allowed: AllowedDelays, timeline: TaskTimeline, policy: Policy) -> bool:
    """Whether it is listed as pending and does not wait rightly; without a list, whether it is awaited and no event shows its end."""
    if timeline.task in history.lists.pending:
        return not waits_rightly(history, timeline, policy, allowed.pauses)
    if history.final is not None:
        return False
    return (
        is_awaited(history, timeline) and not timeline.succeeded and not (timeline.effects and not history.records_ends)
    )

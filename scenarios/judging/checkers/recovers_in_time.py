"""After the last `fault.healed` the system catches up within `policy.budget_s` (rules 17 and 18).

Witnesses are the tasks with an attempt that ended, or that were still pending, more than `budget_s` later; for tasks acknowledged or
due after the healing, the budget begins then, and again with each redrive. A task that waits rightly at the end is no witness, nor
is one of an account that contradicts itself. The lab's own waiting time proves nothing.
"""

from itertools import pairwise

from scenarios.judging.lateness import AllowedDelays, closed_ns, is_awaited
from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import reconcile, waits_rightly
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
    found = (
        _late(history, allowed, timeline, policy, _since_ns(timeline, healed_ns), budget_ns)
        for timeline in history.tasks.values()
    )
    violations = [violation for violation in found if violation is not None]
    return Findings(tuple(violations), exercised=exercised, figures=figures)


def _since_ns(timeline: TaskTimeline, healed_ns: int) -> int:
    """When the first budget of this task begins."""
    since_ns = timeline.acknowledged_ns
    ready_ns = since_ns if since_ns != FOREVER_NS else (timeline.invoked_ns if timeline.submissions else healed_ns)
    if timeline.due_s is not None:
        ready_ns = max(ready_ns, ns_of(timeline.due_s[1]))
    return max(healed_ns, ready_ns)


def _late(
    history: History, allowed: AllowedDelays, timeline: TaskTimeline, policy: Policy, since_ns: int, budget_ns: int
) -> Violation | None:
    begins_ns = [since_ns, *(instant for instant in timeline.redrives_ns if instant > since_ns)]
    for begun_ns, until_ns in pairwise([*begins_ns, FOREVER_NS]):
        limit_ns = begun_ns + budget_ns
        worked_ns = _last_work_ns(history, timeline, until_ns)
        if worked_ns > limit_ns and worked_ns > allowed.extended_ns(timeline, limit_ns, begun_ns + 1, worked_ns):
            what = f"still running {(worked_ns - begun_ns) / NS_PER_S:.3g} s after the last healing, its submission or its redrive"
            return Violation(timeline.task, Proof.EVENTS, f"{what}; the budget is {policy.budget_s:g} s")
    begun_ns, end_ns = begins_ns[-1], history.end_ns
    limit_ns = begun_ns + budget_ns
    if end_ns <= limit_ns or not _is_unfinished(history, allowed, timeline, policy):
        return None
    latest_ns = allowed.extended_ns(timeline, limit_ns, begun_ns + 1, end_ns)
    if end_ns <= latest_ns or closed_ns(history, timeline) <= latest_ns:
        return None
    what = f"still pending {(end_ns - begun_ns) / NS_PER_S:.3g} s after the last healing, its submission or its redrive"
    return Violation(timeline.task, Proof.RECORD, f"{what}; the budget is {policy.budget_s:g} s")


def _last_work_ns(history: History, timeline: TaskTimeline, until_ns: int) -> int:
    """When its last attempt up to this instant ended; in a history without ends of attempts, when it had its last effect."""
    if history.records_ends:
        ends_ns = (one.ended_ns for one in timeline.attempts if one.ended_ns is not None)
    else:
        ends_ns = (effect.t_ns for effect in timeline.effects)
    return max((end_ns for end_ns in ends_ns if end_ns <= until_ns), default=-FOREVER_NS)


def _is_unfinished(history: History, allowed: AllowedDelays, timeline: TaskTimeline, policy: Policy) -> bool:
    """Whether it is listed as pending and does not wait rightly; without a list, whether it is awaited and no event shows its end.

    An account that contradicts itself says nothing.
    """
    if history.final is not None:
        is_pending = timeline.task in history.lists.pending and not reconcile(history, policy).contradiction
        return is_pending and not waits_rightly(history, timeline, policy, allowed.pauses)
    return (
        is_awaited(history, timeline) and not timeline.succeeded and not (timeline.effects and not history.records_ends)
    )

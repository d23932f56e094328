"""From the last `fault.healed` to `final` (or the last attempt's end, where earlier) at most `policy.budget_s` (rule 17)."""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, NS_PER_S, History


def check(history: History, policy: Policy) -> Findings:
    """Whether the system caught up soon enough; the witnesses are the tasks that were still at work after the budget."""
    if not history.faults:
        return Findings()
    if any(span.healed_ns == FOREVER_NS for span in history.faults):
        return Findings(undecided="a fault was never seen healed")
    healed_ns = max(span.healed_ns for span in history.faults)
    caught_up_ns = _caught_up_ns(history)
    if caught_up_ns is None:
        return Findings(undecided="the history tells neither its end nor that of any attempt")
    recovery_s = max(0, caught_up_ns - healed_ns) / NS_PER_S
    figures = {"recovery_s": recovery_s}
    exercised = len(history.faults)
    if policy.budget_s is None:
        undecided = f"the policy states no budget_s; it took {recovery_s:.3g} s"
        return Findings(exercised=exercised, undecided=undecided, figures=figures)
    limit_ns = healed_ns + round(policy.budget_s * NS_PER_S)
    violations: tuple[Violation, ...] = ()
    if caught_up_ns > limit_ns:
        # An attempt that ended too late proves it, whatever came after; the time of `final` does only if the drain was complete.
        proof = Proof.EVENTS if history.last_end_ns is not None else Proof.END
        what = f"caught up {recovery_s:.3g} s after the last healing; the budget is {policy.budget_s:g} s"
        violations = tuple(Violation(task, proof, what) for task in _late(history, limit_ns))
    return Findings(violations, exercised=exercised, figures=figures)


def _caught_up_ns(history: History) -> int | None:
    """None where the history tells neither its end nor that of any attempt."""
    final_ns = history.final.t_ns if history.final is not None else None
    ends = [instant for instant in (history.last_end_ns, final_ns) if instant is not None]
    return min(ends) if ends else None


def _late(history: History, limit_ns: int) -> list[str]:
    """Tasks with an attempt or effect after the limit; where none is recorded, every task, for any of them may be the late one."""
    late = [
        timeline.task
        for timeline in history.tasks.values()
        if any(attempt.ended_ns is not None and attempt.ended_ns > limit_ns for attempt in timeline.attempts)
        or any(effect.t_ns > limit_ns for effect in timeline.effects)
    ]
    return late or list(history.tasks) or [span.target for span in history.faults]

"""The first start no later than `due_s` + `tolerance_s`; a fault in between excuses it until healed + `budget_s` (rule 16).

A task whose time had come by the end of a drained run, and that is lost or stuck without ever having started, is late, too.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import reconcile
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import NS_PER_S, History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Scheduled tasks that started much after their time."""
    violations = []
    never_started: list[tuple[TaskTimeline, int]] = []
    exercised = 0
    latest_late_s = 0.0
    for timeline in history.tasks.values():
        due_s = timeline.due_s
        if due_s is None:
            continue
        exercised += 1
        due_ns = round(due_s[1] * NS_PER_S)
        if timeline.attempts:
            started_ns = timeline.attempts[0].started_ns
            latest_late_s = max(latest_late_s, (started_ns - due_ns) / NS_PER_S)
            if started_ns > _latest_ns(history, policy, due_ns, started_ns):
                what = f"started {(started_ns - due_ns) / NS_PER_S:.3g} s after its time"
                violations.append(Violation(timeline.task, Proof.EVENTS, what))
        else:
            never_started.append((timeline, due_ns))
    violations.extend(_never_came(history, policy, never_started))
    return Findings(
        tuple(violations),
        exercised=exercised,
        figures={"scheduled": exercised, "late": len(violations), "latest_s": latest_late_s},
    )


def _latest_ns(history: History, policy: Policy, due_ns: int, until_ns: int) -> int:
    latest_ns = due_ns + round((policy.tolerance_s or 0.0) * NS_PER_S)
    budget_ns = round((policy.budget_s or 0.0) * NS_PER_S)
    excused = [span.healed_ns + budget_ns for span in history.faults if span.overlaps(due_ns, until_ns)]
    return max([latest_ns, *excused])


def _never_came(history: History, policy: Policy, never_started: list[tuple[TaskTimeline, int]]) -> list[Violation]:
    final = history.final
    if final is None or not never_started:
        return []
    reconciliation = reconcile(history, policy)
    unfinished = {*reconciliation.lost, *reconciliation.stuck}
    return [
        Violation(timeline.task, Proof.END, "its time came, and it never started")
        for timeline, due_ns in never_started
        if timeline.task in unfinished and final.t_ns > _latest_ns(history, policy, due_ns, final.t_ns)
    ]

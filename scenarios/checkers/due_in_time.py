"""The first start no later than `due_s` + `tolerance_s`; a fault in between excuses it until healed + `budget_s` (rule 16).

An acknowledged task whose time had come by the end of a drained run, and that never started nor ended otherwise, is late, too.
"""

from scenarios.account import Listing, is_done, listing
from scenarios.history import NS_PER_S, History, Timeline
from scenarios.policy import Policy
from scenarios.verdict import Breach, Findings, Proof


def check(history: History, policy: Policy) -> Findings:
    """Scheduled tasks that started much after their time."""
    lists = listing(history)
    breaches = []
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
                breaches.append(Breach(timeline.task, Proof.EVENTS, what))
        elif _never_came(history, policy, timeline, lists, due_ns):
            breaches.append(Breach(timeline.task, Proof.END, "its time came, and it never started"))
    return Findings(
        tuple(breaches),
        exercised=exercised,
        figures={"scheduled": exercised, "late": len(breaches), "latest_s": latest_late_s},
    )


def _latest_ns(history: History, policy: Policy, due_ns: int, until_ns: int) -> int:
    latest_ns = due_ns + round((policy.tolerance_s or 0.0) * NS_PER_S)
    budget_ns = round((policy.budget_s or 0.0) * NS_PER_S)
    excused = [span.healed_ns + budget_ns for span in history.faults if span.overlaps(due_ns, until_ns)]
    return max([latest_ns, *excused])


def _never_came(history: History, policy: Policy, timeline: Timeline, lists: Listing, due_ns: int) -> bool:
    final = history.final
    if final is None or not timeline.acknowledged or timeline.cancelled_ns is not None:
        return False
    if is_done(history, timeline, lists) or any(
        timeline.task in ended for ended in (lists.dead, lists.cancelled, lists.expired)
    ):
        return False
    return final.t_ns > _latest_ns(history, policy, due_ns, final.t_ns)

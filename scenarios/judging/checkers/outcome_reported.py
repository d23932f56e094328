"""A task that ended is in the system's own list, and is read as ended, within the budget (rule 25). The witness is the task.

A task with an attempt that ended ok, and that is not cancelled, expired or dead, is listed as done, unless the list is null. Its last
status read later than `policy.budget_s` (default 30 s) after the end of its last attempt, and earlier than `policy.result_ttl_s` (if
stated) after it, shows a final state. Faults excuse reads as in rule 16.
"""

from scenarios.judging.endings import succeeded
from scenarios.judging.lateness import AllowedDelays, closed_ns
from scenarios.judging.policy import REPORT_S, Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.events import FINAL_STATES
from scenarios.record.history import FOREVER_NS, Event, History, TaskTimeline, earliest_ns, ns_of


def check(history: History, policy: Policy) -> Findings:
    """Tasks that ended and are not reported as ended."""
    allowed = AllowedDelays(history, policy)
    violations = []
    exercised = 0
    lists_done = history.final is not None and history.final.done is not None
    for timeline in history.tasks.values():
        if not timeline.succeeded or _is_listed_otherwise(history, timeline):
            continue
        is_missing = lists_done and timeline.task not in history.lists.done and not _ended_later(history, timeline)
        read = _last_read(allowed, timeline, policy)
        exercised += lists_done or read is not None or any(one.state in FINAL_STATES for one in timeline.statuses)
        if not is_missing and (read is None or read.state in FINAL_STATES):
            continue
        if not _ended_well(history, timeline, policy):
            continue
        if is_missing:
            what = "an attempt of it ended ok, but the final account does not list it as done"
            violations.append(Violation(timeline.task, Proof.END, what))
        elif read is not None:
            after_s = (read.t_ns - _ended_ns(timeline)) / 1e9
            what = f"a client read {read.state} {after_s:.3g} s after it had ended"
            violations.append(Violation(timeline.task, Proof.RECORD, what))
    figures = {"ended": exercised, "unreported": len(violations)}
    return Findings(tuple(violations), exercised=exercised, figures=figures)


def _ended_later(history: History, timeline: TaskTimeline) -> bool:
    """Whether it ended when the account had already been asked for: a system makes tasks of its own as long as it runs."""
    assert history.final is not None, "it has lists"
    return timeline.succeeded_ns is not None and timeline.succeeded_ns >= earliest_ns(history.final)


def _is_listed_otherwise(history: History, timeline: TaskTimeline) -> bool:
    lists = history.lists
    return timeline.task in lists.dead or timeline.task in lists.cancelled or timeline.task in lists.expired


def _ended_well(history: History, timeline: TaskTimeline, policy: Policy) -> bool:
    """Whether an attempt since the last redrive ended ok, and the task was not cancelled, expired or dead."""
    if not succeeded(history, timeline, policy) or closed_ns(history, timeline) != FOREVER_NS:
        return False
    ended_ns = timeline.succeeded_ns
    return not timeline.redrives_ns or (ended_ns is not None and ended_ns > timeline.redrives_ns[-1])


def _ended_ns(timeline: TaskTimeline) -> int:
    ends_ns = [attempt.ended_ns for attempt in timeline.attempts if attempt.ended_ns is not None]
    return max([*ends_ns, *([] if timeline.succeeded_ns is None else [timeline.succeeded_ns])])


def _last_read(allowed: AllowedDelays, timeline: TaskTimeline, policy: Policy) -> Event | None:
    """The last status that was requested after the bound, and answered while results are kept."""
    budget_ns = ns_of(REPORT_S if policy.budget_s is None else policy.budget_s)
    if not timeline.statuses or timeline.statuses[-1].t_ns <= (timeline.succeeded_ns or 0) + budget_ns:
        return None
    ended_ns = _ended_ns(timeline)
    bound_ns = ended_ns + budget_ns
    if timeline.statuses[-1].t_ns <= bound_ns:
        return None
    until_ns = FOREVER_NS if policy.result_ttl_s is None else ended_ns + ns_of(policy.result_ttl_s)
    for read in reversed(timeline.statuses):
        asked_ns = earliest_ns(read)
        if read.t_ns >= until_ns or asked_ns <= bound_ns:
            continue
        return read if asked_ns > allowed.extended_ns(timeline, bound_ns, ended_ns, asked_ns) else None
    return None

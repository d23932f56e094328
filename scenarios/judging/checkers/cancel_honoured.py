"""After `cancel.ok` the task does nothing more (rules 15 and 21). A redrive or a new `submit.invoke` ends the promise.

No `attempt.start`; no accepted effect and no `attempt.ok` later than `policy.grace_s` (default 0); and the task is not listed as done,
unless an attempt of it had ended ok by then. A system that only asks the attempt to stop answers `cancel.info`.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, NS_PER_S, History, TaskTimeline, ns_of


def check(history: History, policy: Policy) -> Findings:
    """Tasks that continued although their cancellation was promised."""
    grace_ns = ns_of(policy.grace_s or 0.0)
    violations: list[Violation] = []
    cancelled = 0
    for timeline in history.tasks.values():
        if not timeline.cancels_ns:
            continue
        cancelled += 1
        for cancelled_ns in timeline.cancels_ns:
            found = _against(history, timeline, cancelled_ns, grace_ns)
            if found is not None:
                violations.append(found)
                break
    figures = {"cancelled": cancelled, "started": len(violations)}
    return Findings(tuple(violations), exercised=cancelled, figures=figures)


def _against(history: History, timeline: TaskTimeline, cancelled_ns: int, grace_ns: int) -> Violation | None:
    """The first violation after this promise and before its end."""
    ends_ns = [*timeline.redrives_ns, *(one.t_ns for one in timeline.submissions if one.event == "submit.invoke")]
    until_ns = min((instant for instant in ends_ns if instant > cancelled_ns), default=FOREVER_NS)
    late_ns = cancelled_ns + grace_ns
    starts = [one.started_ns for one in timeline.attempts if cancelled_ns < one.started_ns < until_ns]
    effects = [one.t_ns for one in timeline.effects if late_ns < one.t_ns < until_ns]
    oks = [one.ended_ns for one in timeline.attempts if one.outcome == "ok" and one.ended_ns is not None]
    ended = [instant for instant in oks if late_ns < instant < until_ns]
    for what, instants in (("started", starts), ("had an effect", effects), ("ended ok", ended)):
        if instants:
            after_s = (min(instants) - cancelled_ns) / NS_PER_S
            return Violation(timeline.task, Proof.EVENTS, f"{what} {after_s:.3g} s after its cancellation was promised")
    had_ended = any(instant <= late_ns for instant in oks) or (timeline.succeeded and not oks)
    had_ended = had_ended or (bool(timeline.attempts) and not history.records_ends)  # the time of its end is unknown
    if until_ns == FOREVER_NS and timeline.task in history.lists.done and not had_ended:
        return Violation(
            timeline.task, Proof.END, "listed as done, although its cancellation was promised before it ended"
        )
    return None

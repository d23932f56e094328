"""After `cancel.ok` the task does nothing more (rules 15 and 21). A redrive or a new `submit.invoke` ends the promise.

No `attempt.start`; no accepted effect and no `attempt.ok` later than `policy.grace_s` (default 0); and the task is not listed as done,
unless an attempt of it had ended ok by then. A system that only asks the attempt to stop answers `cancel.info`.
"""

from bisect import bisect_right
from dataclasses import dataclass

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
        record = _Record.of(timeline)
        for cancelled_ns in timeline.cancels_ns:
            found = _against(history, timeline, record, cancelled_ns, grace_ns)
            if found is not None:
                violations.append(found)
                break
    figures = {"cancelled": cancelled, "started": len(violations)}
    return Findings(tuple(violations), exercised=cancelled, figures=figures)


@dataclass(frozen=True, slots=True)
class _Record:
    """The record of a task as sorted instants; `revived`: redrives and new submissions, which end the promise."""

    revived: list[int]
    starts: list[int]
    effects: list[int]
    oks: list[int]

    @classmethod
    def of(cls, timeline: TaskTimeline) -> "_Record":
        submitted = [one.t_ns for one in timeline.submissions if one.event == "submit.invoke"]
        oks = [one.ended_ns for one in timeline.attempts if one.outcome == "ok" and one.ended_ns is not None]
        return cls(
            revived=sorted([*timeline.redrives_ns, *submitted]),
            starts=[one.started_ns for one in timeline.attempts],
            effects=[one.t_ns for one in timeline.effects],
            oks=sorted(oks),
        )


def _first_after(instants: list[int], instant: int) -> int:
    place = bisect_right(instants, instant)
    return instants[place] if place < len(instants) else FOREVER_NS


def _against(
    history: History, timeline: TaskTimeline, record: _Record, cancelled_ns: int, grace_ns: int
) -> Violation | None:
    """The first violation after this promise and before its end."""
    until_ns = _first_after(record.revived, cancelled_ns)
    late_ns = cancelled_ns + grace_ns
    for what, instants, after_ns in (
        ("started", record.starts, cancelled_ns),
        ("had an effect", record.effects, late_ns),
        ("ended ok", record.oks, late_ns),
    ):
        instant = _first_after(instants, after_ns)
        if instant < until_ns:
            after_s = (instant - cancelled_ns) / NS_PER_S
            return Violation(timeline.task, Proof.EVENTS, f"{what} {after_s:.3g} s after its cancellation was promised")
    oks = record.oks
    had_ended = any(instant <= late_ns for instant in oks[:1]) or (timeline.succeeded and not oks)
    had_ended = had_ended or (bool(timeline.attempts) and not history.records_ends)  # the time of its end is unknown
    if until_ns == FOREVER_NS and timeline.task in history.lists.done and not had_ended:
        return Violation(
            timeline.task, Proof.END, "listed as done, although its cancellation was promised before it ended"
        )
    return None

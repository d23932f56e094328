"""At no instant more than n attempts of one value run: `policy.concurrency` = {by: scope | order_key | user | all, n} (rule 25).

An attempt counts until its end, the crash of its actor or the expiry of its lease, and does not count while its actor is paused. The
witness is the value.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from scenarios.judging.disturbances import first_crash_ns, pauses_of_process
from scenarios.judging.leases import lease_end_ns
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, AttemptRecord, History, TaskTimeline, ns_of


def check(history: History, policy: Policy) -> Findings:
    """Values with too many attempts at once."""
    limit = policy.concurrency
    if limit is None:
        return Findings(undecided="the policy states no concurrency")
    if not history.records_ends:
        return Findings(undecided="the history records no end of any attempt")
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for timeline in history.tasks.values():
        value = value_of(timeline, limit.by)
        if value is not None:
            for attempt in timeline.attempts:
                for from_ns, until_ns in _runs(history, attempt, policy):
                    changes[value] += [(from_ns, 1), (until_ns, -1)]
    violations = []
    exercised = 0
    most_of_all = 0
    for value, steps in changes.items():
        running = most = 0
        for _, change in sorted(steps):  # at one instant, ends come first
            running += change
            most = max(most, running)
        most_of_all = max(most_of_all, most)
        exercised += most >= limit.n
        if most > limit.n:
            what = f"{most} attempts of it ran at once; the policy allows {limit.n}"
            violations.append(Violation(value, Proof.RECORD, what))
    figures = {"values": len(changes), "running_most": most_of_all, "over": len(violations)}
    return Findings(tuple(violations), exercised=exercised, figures=figures)


def value_of(timeline: TaskTimeline, by: str) -> str | None:
    """The value by which a task is counted; None if no submission states it."""
    match by:
        case "scope":
            return timeline.stated("scope")
        case "order_key":
            return timeline.stated("order_key")
        case "user":
            return timeline.stated("user")
    return "all"


def _runs(history: History, attempt: AttemptRecord, policy: Policy) -> Iterator[tuple[int, int]]:
    """The time spans in which this attempt surely ran."""
    from_ns, until_ns = attempt.started_ns, _ended_ns(history, attempt, policy)
    stops = sorted(
        (span.bit_ns, span.healed_ns)
        for span in pauses_of_process(history, attempt.actor)
        if span.bit_ns is not None and span.bit_ns < until_ns and span.healed_ns > from_ns
    )
    for stopped_ns, resumed_ns in stops:
        if stopped_ns > from_ns:
            yield from_ns, stopped_ns
        from_ns = max(from_ns, resumed_ns)
    if until_ns > from_ns:
        yield from_ns, until_ns


def _ended_ns(history: History, attempt: AttemptRecord, policy: Policy) -> int:
    ends_ns = [FOREVER_NS if attempt.ended_ns is None else attempt.ended_ns]
    crashed_ns = first_crash_ns(history, attempt.actor, attempt.started_ns, ends_ns[0])
    if crashed_ns is not None:
        ends_ns.append(crashed_ns)
    restarts_ns = history.restarts_ns.get(attempt.actor, [])
    restart = bisect_left(restarts_ns, attempt.started_ns)
    ends_ns += restarts_ns[restart : restart + 1]
    lease_ns = lease_end_ns(history, attempt, ends_ns[0])
    if lease_ns is not None:
        ends_ns.append(max(attempt.started_ns, lease_ns))
    elif policy.lease_s is not None and attempt.ended_ns is None:
        ends_ns.append(attempt.started_ns + ns_of(policy.lease_s))
    return min(ends_ns)

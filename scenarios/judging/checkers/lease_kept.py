"""An attempt that works for more than four times as long as its lease renews it, where `policy.renews_leases` says so.

Judged where leases on tasks are told. From its acquisition, and from each renewal, the next renewal comes within four times the lease,
or the attempt ends: a machine that stands still for a moment, or a slow network, delays a renewal, and not for that long. Where the
worker died, stood still or was cut off in that time, nothing is proven; nor of an attempt that gave its lease up or had no end.
"""

from scenarios.judging.causes import cuts_worker_off, first_crash_ns
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import NS_PER_S, AttemptRecord, Event, History, ns_of

TIMES = 4
"""A lease is renewed at least once in so many times its length."""


def check(history: History, policy: Policy) -> Findings:
    """Tasks whose attempts let their leases run out while they worked."""
    if not policy.renews_leases:
        return Findings(undecided="the policy does not state renews_leases")
    violations: list[Violation] = []
    exercised = 0
    for task, leases in history.leases.items():
        timeline = history.tasks.get(task)
        for attempt in timeline.attempts if timeline is not None else ():
            gaps_ns = _gaps_ns(history, leases, attempt)
            exercised += bool(gaps_ns)
            late = [(gap_ns, ttl_s) for gap_ns, ttl_s in gaps_ns if gap_ns > TIMES * ns_of(ttl_s)]
            if late:
                gap_ns, ttl_s = late[0]
                what = f"worked {gap_ns / NS_PER_S:.3g} s under a lease of {ttl_s:.3g} s without renewing it"
                violations.append(Violation(task, Proof.EVENTS, what))
                break
    figures = {"longer_than_lease": exercised, "not_renewed": len(violations)}
    return Findings(tuple(violations), exercised=exercised, figures=figures)


def _gaps_ns(history: History, leases: list[Event], attempt: AttemptRecord) -> list[tuple[int, float]]:
    """From each acquisition or renewal to the next, or to the end, with the lease's length; only where the attempt outlasted it surely."""
    ended_ns = attempt.ended_ns
    own = [event for event in leases if event.actor == attempt.actor]
    acquired = [event for event in own if event.event == "lease.acquired" and event.t_ns <= attempt.started_ns]
    if ended_ns is None or not acquired:
        return []
    first = acquired[-1]
    hold = [event for event in own if first.t_ns <= event.t_ns < ended_ns and event.fence in (None, first.fence)]
    if not hold or any(event.event == "lease.released" for event in hold):
        return []
    gaps_ns = []
    for held, next_ns in zip(hold, [*(event.t_ns for event in hold[1:]), ended_ns], strict=True):
        assert held.ttl_s is not None, "an acquisition and a renewal state the length"
        bound_ns = held.t_ns + TIMES * ns_of(held.ttl_s)
        if bound_ns <= ended_ns and not _is_excused(history, attempt, held.t_ns, bound_ns):
            gaps_ns.append((next_ns - held.t_ns, held.ttl_s))
    return gaps_ns


def _is_excused(history: History, attempt: AttemptRecord, from_ns: int, until_ns: int) -> bool:
    """Whether its worker may have been unable to renew the lease in this time."""
    return first_crash_ns(history, attempt.actor, from_ns, until_ns) is not None or any(
        span.overlaps(from_ns, until_ns) and (span.target == attempt.actor or cuts_worker_off(span))
        for span in history.faults
    )

"""While an attempt works, its lease is renewed at least every `policy.renew_s`. Judged if leases on tasks are recorded.

From its acquisition, and from each renewal, the next renewal comes within `renew_s` and `tolerance_s`, or the attempt ends. If the
worker crashed, was paused or was cut off in that time, or since it had asked for the lease, nothing is proven; nor for an attempt that
released its lease or had no end, nor after its task was cancelled, expired or dead, or past a deadline at which it expires
(`policy.ends_at_deadline`).
"""

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import NamedTuple

from scenarios.judging.disturbances import cuts_worker_off, first_crash_ns
from scenarios.judging.lateness import closed_ns
from scenarios.judging.leases import expiry_ns
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import NS_PER_S, AttemptRecord, History, TaskTimeline, ns_of
from scenarios.record.timeline import FOREVER_NS, T_NS, ActorLeases


def check(history: History, policy: Policy) -> Findings:
    """Tasks whose attempts worked on without renewing their leases."""
    if policy.renew_s is None:
        return Findings(undecided="the policy states no renew_s")
    bound_ns = ns_of(policy.renew_s + (policy.tolerance_s or 0.0))
    violations: list[Violation] = []
    exercised = 0
    for resource in history.leases:
        task = resource.removeprefix("task:")
        timeline = history.tasks.get(task)
        if timeline is None:
            continue
        hold_ns = ns_of(max(event.ttl_s or 0.0 for event in history.leases[resource]))
        gaps_ns = [
            gap_ns
            for attempt in timeline.attempts
            for gap_ns in _gaps_ns(
                _Judged(history, timeline, policy, bound_ns, hold_ns),
                history.actor_leases.get((resource, attempt.actor)),
                attempt,
            )
        ]
        exercised += bool(gaps_ns)
        longest_ns = max(gaps_ns, default=0)
        if longest_ns > bound_ns:
            what = f"worked {longest_ns / NS_PER_S:.3g} s without renewing its lease; the policy states {policy.renew_s:g} s"
            violations.append(Violation(task, Proof.EVENTS, what))
    figures = {"long_holds": exercised, "not_renewed": len(violations)}
    return Findings(tuple(violations), exercised=exercised, figures=figures)


class _Judged(NamedTuple):
    """A task with a lease. `bound_ns`: how long may pass between renewals; `hold_ns`: how long a hold is valid."""

    history: History
    timeline: TaskTimeline
    policy: Policy
    bound_ns: int
    hold_ns: int


def _gaps_ns(judged: _Judged, own: ActorLeases | None, attempt: AttemptRecord) -> list[int]:
    """From each acquisition or renewal to the next, or to the attempt's end; only where that lasted beyond the bound, without excuse."""
    history, timeline, policy, bound_ns, hold_ns = judged
    ended_ns = attempt.ended_ns
    acquired = 0 if own is None else bisect_right(own.acquired, attempt.started_ns, key=T_NS)
    if own is None or ended_ns is None or not acquired:
        return []
    first = own.acquired[acquired - 1]
    if ended_ns <= first.t_ns + bound_ns:
        return []
    ended_ns = min(ended_ns, closed_ns(history, timeline), _expires_ns(timeline, policy))
    since, until = (bisect_left(own.events, instant, key=T_NS) for instant in (first.t_ns, ended_ns))
    hold = [event for event in own.events[since:until] if event.fence in (None, first.fence)]
    if any(event.event == "lease.released" for event in hold):
        return []
    instants_ns = [*(event.t_ns for event in hold), ended_ns]
    # A hold recorded with less left than others had been asked for earlier: before a pause, say.
    asked_ns = min(expiry_ns(first) - hold_ns, first.t_ns)
    return [
        next_ns - held_ns
        for held_ns, next_ns in pairwise(instants_ns)
        if held_ns + bound_ns < ended_ns
        and not _is_excused(history, attempt, asked_ns if held_ns == first.t_ns else held_ns, held_ns + bound_ns)
    ]


def _expires_ns(timeline: TaskTimeline, policy: Policy) -> int:
    if not policy.ends_at_deadline or timeline.deadline_s is None:
        return FOREVER_NS
    return ns_of(timeline.deadline_s)


def _is_excused(history: History, attempt: AttemptRecord, from_ns: int, until_ns: int) -> bool:
    """Whether its worker may have been unable to renew the lease in this time."""
    return first_crash_ns(history, attempt.actor, from_ns, until_ns) is not None or any(
        span.overlaps(from_ns, until_ns) and (span.target == attempt.actor or cuts_worker_off(span))
        for span in history.faults
    )

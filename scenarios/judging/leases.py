"""When an attempt's lease expires: as its holder recorded it, else as the policy states it. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from scenarios.judging.disturbances import cuts_worker_off, first_crash_ns
from scenarios.judging.policy import Policy
from scenarios.record.history import FOREVER_NS, AttemptRecord, Event, History, ns_of
from scenarios.record.timeline import STARTED_NS, T_NS, ActorLeases


def lease_expired(
    history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy, given_back_ns: Sequence[int] = ()
) -> bool:
    """Whether the lease of `former` on its task, its order key or its scope had expired when `latter` started.

    Also true if `latter` was started by a zombie whose own, older lease had already expired (docs/adr/0003). `given_back_ns`: the
    starts of this task that an expired lease caused before.
    """
    if policy.lease_owner == "broker" and not history.leases_on(former.task):
        return _expired_at_broker(history, former, latter, policy, given_back_ns)
    if not history.leases:
        return False
    if any(_expired(history, leases, former, latter) for leases in history.leases_of(former.task, former.actor)):
        return True
    return former.actor != latter.actor and any(
        _is_start_of_zombie(leases, former, latter) for leases in history.leases_of(former.task, latter.actor)
    )


def holds_validly(history: History, attempt: AttemptRecord, until_ns: int) -> bool:
    """Whether a recorded lease of this attempt is still valid then."""
    if not history.leases:
        return False
    holds = [_hold_of(history, leases, attempt, until_ns) for leases in history.leases_of(attempt.task, attempt.actor)]
    return any(hold is not None and expiry_ns(hold) > until_ns for hold in holds)


def _expired(history: History, leases: ActorLeases, former: AttemptRecord, latter: AttemptRecord) -> bool:
    lease = _hold_of(history, leases, former, latter.started_ns)
    if lease is None and history.records_states:
        lease = _released_without_effect(history, leases, former, latter.started_ns)
    return lease is not None and expiry_ns(lease) <= latter.started_ns and not former.acked_by(expiry_ns(lease) - 1)


def _expired_at_broker(
    history: History, former: AttemptRecord, latter: AttemptRecord, policy: Policy, given_back_ns: Sequence[int]
) -> bool:
    """Whether a broker whose leases are not renewed may have given the message of `former` to another consumer.

    A worker may fetch ahead, so the lease began at the earliest with the submission, or with the failure that the message is a retry of.
    Each time the message is given back, the next lease begins.
    """
    assert policy.lease_s is not None, "a policy whose leases are the broker's states their duration"
    timeline = history.tasks[former.task]
    since_ns = timeline.invoked_ns if timeline.is_submitted else 0
    before = bisect_left(timeline.attempts, former.started_ns, key=STARTED_NS) - 1
    if before >= 0 and timeline.attempts[before].outcome == "fail":
        since_ns = max(since_ns, min(timeline.attempts[before].ended_ns or 0, former.started_ns))
    leases = 1 + len(given_back_ns) - bisect_right(given_back_ns, since_ns)
    expired_ns = since_ns + leases * ns_of(policy.lease_s)
    was_at_work = former.ended_ns is None or former.ended_ns >= expired_ns
    return was_at_work and expired_ns <= latter.started_ns and not former.acked_by(expired_ns - 1)


def _is_start_of_zombie(leases: ActorLeases, former: AttemptRecord, latter: AttemptRecord) -> bool:
    own = _last_hold(leases, latter.started_ns)
    return own is not None and own.t_ns < former.started_ns and expiry_ns(own) <= latter.started_ns


def lease_end_ns(history: History, attempt: AttemptRecord, until_ns: int) -> int | None:
    """When the attempt's lease expires, as recorded up to `until_ns`; None if there was no lease, or it was released."""
    if not history.leases:
        return None
    holds = [_hold_of(history, leases, attempt, until_ns) for leases in history.leases_of(attempt.task, attempt.actor)]
    ends_ns = [expiry_ns(hold) for hold in holds if hold is not None]
    return max(ends_ns) if ends_ns else None


def _released_without_effect(
    history: History, leases: ActorLeases, attempt: AttemptRecord, until_ns: int
) -> Event | None:
    """The hold of an attempt that reported a release, if the rows show that the task stayed held until the lease expired.

    Its worker crashed, was paused or was cut off between the report and the release: else it gives tasks up without releasing them.
    """
    lease = _hold_of(history, leases, attempt, until_ns, with_releases=False)
    if lease is None:
        return None
    rows = history.tasks[attempt.task].states
    first = bisect_left(rows, attempt.started_ns, key=T_NS)
    changed = any(row.from_ == "RUNNING" for row in rows[first : bisect_right(rows, expiry_ns(lease), key=T_NS)])
    return None if changed or not _was_disturbed(history, attempt, expiry_ns(lease)) else lease


def _was_disturbed(history: History, attempt: AttemptRecord, until_ns: int) -> bool:
    """Whether its worker crashed, was struck or was cut off between its end (or its start, if it has none) and this instant."""
    since_ns = attempt.started_ns if attempt.ended_ns is None else attempt.ended_ns
    return first_crash_ns(history, attempt.actor, since_ns, until_ns) is not None or any(
        span.overlaps(since_ns, until_ns) and (span.target == attempt.actor or cuts_worker_off(span))
        for span in history.faults
    )


def expiry_ns(lease: Event) -> int:
    """Until when an acquired or renewed lease is surely valid: counted from when it was asked for, if that is known."""
    since = lease.t_ns if lease.asked_ns is None else lease.asked_ns
    assert since is not None
    assert lease.ttl_s is not None
    return since + ns_of(lease.ttl_s)


def _hold_of(
    history: History, leases: ActorLeases, attempt: AttemptRecord, until_ns: int, *, with_releases: bool = True
) -> Event | None:
    """The last acquisition or renewal of the hold under which the attempt ran; None if it was released before it expired.

    The actor may have acquired the lease again for the next attempt: that is another hold.
    """
    acquired = bisect_right(leases.acquired, attempt.started_ns, key=T_NS)
    if not acquired:
        return _last_hold(leases, until_ns, with_releases=with_releases)
    since = leases.acquired[acquired - 1]
    following_ns = _next_hold_ns(leases, since, acquired, until_ns)
    ends_ns = until_ns
    if following_ns <= until_ns and _starts(history, attempt, following_ns, until_ns):
        ends_ns = following_ns - 1
    return _last_hold(leases, ends_ns, since=since, with_releases=with_releases)


def _starts(history: History, attempt: AttemptRecord, from_ns: int, until_ns: int) -> bool:
    """Whether the same actor started the same task again in this time, bounds included."""
    attempts = history.tasks[attempt.task].attempts
    first, last = bisect_left(attempts, from_ns, key=STARTED_NS), bisect_right(attempts, until_ns, key=STARTED_NS)
    return any(one.actor == attempt.actor for one in attempts[first:last])


def _next_hold_ns(leases: ActorLeases, since: Event, place: int, until_ns: int) -> int:
    """When the actor acquired the lease anew, without a fence, after the hold that began with `since` had expired.

    `place`: of the first acquisition after it. A broker may deliver a message again to the worker that still has it in hand.
    """
    for again in leases.acquired[place:]:
        if again.t_ns > until_ns:
            break
        before = _last_hold(leases, again.t_ns - 1, since=since, with_releases=False)
        if again.fence is None and before is not None and expiry_ns(before) <= again.t_ns:
            return again.t_ns
    return FOREVER_NS


def _last_hold(
    leases: ActorLeases, until_ns: int, *, since: Event | None = None, with_releases: bool = True
) -> Event | None:
    """The actor's last acquisition or renewal of a lease up to `until_ns`; None if it released the lease before it expired.

    `since`: only events from this acquisition on, with its fence or without a fence.
    """
    released_ns = FOREVER_NS
    for place in range(bisect_right(leases.events, until_ns, key=T_NS) - 1, -1, -1):
        event = leases.events[place]
        if since is not None and event.t_ns < since.t_ns:
            return None
        if since is not None and event.fence not in (None, since.fence):
            continue
        if event.event != "lease.released":
            # A zombie's release after the expiry has no effect.
            return None if released_ns < expiry_ns(event) else event
        if with_releases:
            released_ns = event.t_ns
    return None

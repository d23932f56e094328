"""What the end of an attempt decides: nothing if the system may never have learnt of it, or the task was already dead (rules 16, 20)."""

from scenarios.judging.disturbances import cuts_worker_off, first_crash_ns, was_paused
from scenarios.judging.leases import lease_end_ns, lease_expired
from scenarios.judging.policy import Policy
from scenarios.record.history import AttemptRecord, History, TaskTimeline, ns_of


def reports_too_late(history: History, timeline: TaskTimeline, attempt: AttemptRecord, policy: Policy) -> bool:
    """Whether this success is a zombie's late report, which decides nothing: its task was already dead, and its lease had expired.

    Without recorded leases, a pause of the worker or the policy's `lease_s` is enough.
    """
    ended_ns = attempt.ended_ns
    if attempt.outcome != "ok" or ended_ns is None or timeline.dead_ns > ended_ns:
        return False
    end_ns = lease_end_ns(history, attempt, ended_ns)
    if end_ns is not None:
        return end_ns <= ended_ns
    if history.leases_on(attempt.task):
        return False
    if was_paused(history, attempt.actor, attempt.started_ns, ended_ns):
        return True
    return policy.lease_s is not None and attempt.started_ns + ns_of(policy.lease_s) <= ended_ns


def _was_replaced(timeline: TaskTimeline, attempt: AttemptRecord) -> bool:
    assert attempt.ended_ns is not None
    following = timeline.first_start_after(attempt.started_ns)
    return following is not None and following.started_ns <= attempt.ended_ns


def may_be_unreported(history: History, timeline: TaskTimeline, attempt: AttemptRecord, policy: Policy) -> bool:
    """Whether its worker may never have been able to report what this attempt came to.

    Another attempt had already replaced it; or its lease had expired before it ended; or its lease expired, or its worker crashed or was
    paused, before the next attempt began, or before the task was dead; and before its acknowledgement arrived.
    """
    ended_ns = attempt.ended_ns
    assert ended_ns is not None, "only an attempt that ended has something to report"
    if _was_replaced(timeline, attempt) or reports_too_late(history, timeline, attempt, policy):
        return True
    lease_ends_ns = lease_end_ns(history, attempt, ended_ns)
    if lease_ends_ns is not None and lease_ends_ns <= ended_ns:
        return True
    following = _next_after(timeline, attempt)
    if following is not None and lease_expired(history, attempt, following, policy):
        return True
    next_ns = _buried_after_ns(timeline, ended_ns) if following is None else following.started_ns
    if next_ns is None:
        return False
    next_ns = _until_known_ns(attempt, next_ns)
    return first_crash_ns(history, attempt.actor, ended_ns, next_ns) is not None or any(
        span.overlaps(ended_ns, next_ns) and span.target == attempt.actor for span in history.faults
    )


def _until_known_ns(attempt: AttemptRecord, instant: int) -> int:
    """This instant, or when the acknowledgement of the attempt had arrived: from then on the system knew what it came to."""
    assert attempt.ended_ns is not None, "only an attempt that ended has something to report"
    if attempt.acked_ns is None or attempt.acked_ns < attempt.ended_ns:
        return instant
    return min(instant, attempt.acked_ns)


def _buried_after_ns(timeline: TaskTimeline, instant: int) -> int | None:
    """When the task was dead, at this instant or later; None: it was not."""
    buried = [event.t_ns for event in timeline.deads]
    buried += [row.t_ns for row in timeline.states if row.to in ("DEAD", "FAILED")]
    return min((buried_ns for buried_ns in buried if buried_ns >= instant), default=None)


def decides_nothing(history: History, timeline: TaskTimeline, attempt: AttemptRecord, policy: Policy) -> bool:
    """Whether the task may have gone on without what this attempt came to: as `may_be_unreported`, or its worker was cut off."""
    following = _next_after(timeline, attempt)
    return may_be_unreported(history, timeline, attempt, policy) or (
        following is not None
        and attempt.ended_ns is not None
        and any(
            span.overlaps(attempt.ended_ns, _until_known_ns(attempt, following.started_ns)) and cuts_worker_off(span)
            for span in history.faults
        )
    )


def _next_after(timeline: TaskTimeline, attempt: AttemptRecord) -> AttemptRecord | None:
    assert attempt.ended_ns is not None, "only an attempt that ended has something to report"
    return timeline.first_start_after(attempt.ended_ns)


def is_done(history: History, timeline: TaskTimeline, policy: Policy) -> bool:
    """Whether it is listed as done or succeeded; in a history without ends of attempts, whether it has an accepted effect."""
    if timeline.task in history.lists.done or (not history.records_ends and timeline.effects):
        return True
    return succeeded(history, timeline, policy)


def succeeded(history: History, timeline: TaskTimeline, policy: Policy) -> bool:
    """Whether an attempt ended ok, late reports of zombies excluded."""
    if not timeline.succeeded or not (timeline.deads or timeline.states):
        return timeline.succeeded
    oks = [attempt for attempt in timeline.attempts if attempt.outcome == "ok"]
    return not oks or not all(reports_too_late(history, timeline, attempt, policy) for attempt in oks)

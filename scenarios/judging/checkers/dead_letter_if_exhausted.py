"""Dead if and only if the attempts are used up or the error is one that no retry heals (rule 8). Three ways to break it.

Early: dead with reason `exhausted` and fewer than `attempts_max` attempts. Missing: the last of `attempts_max` failed attempts, or
a permanent error, without `dead`, or a final listing as failed, after it. Both at once: dead and done. A redrive gives a new
budget. What an attempt comes to decides nothing for a task that ended otherwise, where another had already replaced it, or its worker
may never have been able to report it: its lease had run out, or it died, stood still or was cut off before the next attempt.
"""

from scenarios.judging.causes import cuts_worker_off, first_crash_ns, lease_ran_out
from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import Listing, is_done, listing
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import AttemptRecord, History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks given up too early, not at all, or although they had succeeded."""
    lists = listing(history)
    violations: list[Violation] = []
    exercised = 0
    undecided = ""
    for timeline in history.tasks.values():
        failures = [attempt for attempt in timeline.attempts if attempt.outcome == "fail"]
        is_dead = bool(timeline.deads) or timeline.task in lists.dead
        if not failures and not is_dead and not timeline.failures_without_start:
            continue
        used_up = policy.attempts_max is not None and len(failures) >= policy.attempts_max
        exercised += is_dead or used_up or any(failure.error == "permanent" for failure in failures)
        found = [*_both(history, timeline, lists), *_early(timeline, policy)]
        violations.extend(
            found or _missing(history, timeline, failures, lists, policy, done=is_done(history, timeline, lists))
        )
        if policy.attempts_max is None and any(dead.reason == "exhausted" for dead in timeline.deads):
            undecided = "a task is dead as exhausted, and the policy states no attempts_max"
    for task in sorted(lists.done & lists.dead - history.tasks.keys()):
        violations.append(Violation(task, Proof.END, "listed both as dead and as done"))
    figures = {"dead": sum(len(timeline.deads) for timeline in history.tasks.values()), "wrong": len(violations)}
    return Findings(tuple(violations), exercised=exercised, undecided=undecided, figures=figures)


def _both(history: History, timeline: TaskTimeline, lists: Listing) -> list[Violation]:
    last_round = len(timeline.redrives_ns)
    succeeded = [attempt for attempt in timeline.attempts if attempt.outcome == "ok"]
    rounds_ok = {attempt.round for attempt in succeeded if not _decides_nothing(history, timeline, attempt)}
    if timeline.succeeded and not succeeded:
        rounds_ok = {last_round}
    rounds_dead = {_round_of(timeline, dead.t_ns) for dead in timeline.deads}
    if rounds_ok & rounds_dead:
        return [Violation(timeline.task, Proof.EVENTS, "dead, and yet an attempt of it succeeded")]
    listed_dead = timeline.task in lists.dead
    done_now = (
        last_round in rounds_ok
        or timeline.task in lists.done
        or (not history.records_ends and is_done(history, timeline, lists))
    )
    if (listed_dead and done_now) or (last_round in rounds_dead and timeline.task in lists.done):
        return [Violation(timeline.task, Proof.END, "both dead and done at the end")]
    return []


def _early(timeline: TaskTimeline, policy: Policy) -> list[Violation]:
    if policy.attempts_max is None:
        return []
    for dead in timeline.deads:
        if dead.reason != "exhausted":
            continue
        attempts = _attempts_seen(timeline, _round_of(timeline, dead.t_ns))
        if attempts == 0:
            assert dead.attempts is not None
            attempts = dead.attempts
        if attempts < policy.attempts_max:
            what = f"dead as exhausted after {attempts} of {policy.attempts_max} attempts"
            return [Violation(timeline.task, Proof.RECORD, what)]
    return []


def _attempts_seen(timeline: TaskTimeline, number: int) -> int:
    """Attempts of one round, by whatever shows most: starts of the handler, or rows that say RUNNING (a worker may die between)."""
    starts = sum(attempt.round == number for attempt in timeline.attempts)
    claims = sum(
        row.to == "RUNNING" and row.from_ != "WAITING_TOOL" and _round_of(timeline, row.t_ns) == number
        for row in timeline.states
    )
    return max(starts, claims)


def _missing(
    history: History,
    timeline: TaskTimeline,
    failures: list[AttemptRecord],
    lists: Listing,
    policy: Policy,
    *,
    done: bool,
) -> list[Violation]:
    if timeline.task in lists.dead or timeline.task in lists.cancelled or timeline.task in lists.expired:
        return []
    by_round: dict[int, int] = {}
    for failure in failures:
        if done and _decides_nothing(history, timeline, failure):
            continue
        count = by_round[failure.round] = by_round.get(failure.round, 0) + 1
        is_last = failure.error == "permanent" or (policy.attempts_max is not None and count == policy.attempts_max)
        if is_last and not _given_up(timeline, failure):
            why = "a permanent error" if failure.error == "permanent" else f"{count} failed attempts"
            return [Violation(timeline.task, Proof.END, f"{why} and no dead letter")]
    return []


def _given_up(timeline: TaskTimeline, failure: AttemptRecord) -> bool:
    if any(_round_of(timeline, dead.t_ns) == failure.round for dead in timeline.deads):
        return True
    return any(row.to == "FAILED" and _round_of(timeline, row.t_ns) == failure.round for row in timeline.states)


def _was_replaced(timeline: TaskTimeline, attempt: AttemptRecord) -> bool:
    assert attempt.ended_ns is not None
    return any(attempt.started_ns < other.started_ns <= attempt.ended_ns for other in timeline.attempts)


def _decides_nothing(history: History, timeline: TaskTimeline, attempt: AttemptRecord) -> bool:
    """Whether the task may have gone on without what this attempt came to.

    Another had already replaced it; or its worker lost its lease, died, stood still or was cut off before the next attempt began.
    """
    if _was_replaced(timeline, attempt):
        return True
    assert attempt.ended_ns is not None
    ended_ns = attempt.ended_ns
    following = next((other for other in timeline.attempts if other.started_ns > ended_ns), None)
    if following is None:
        return False
    if lease_ran_out(history, attempt, following):
        return True
    next_ns = following.started_ns
    return first_crash_ns(history, attempt.actor, ended_ns, next_ns) is not None or any(
        span.overlaps(ended_ns, next_ns) and (span.target == attempt.actor or cuts_worker_off(span))
        for span in history.faults
    )


def _round_of(timeline: TaskTimeline, instant: int | None) -> int:
    """How many redrives came before this instant."""
    assert instant is not None
    return sum(redriven < instant for redriven in timeline.redrives_ns)

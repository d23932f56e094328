"""The account of a run: the place where every submitted task ended, by identity, not by counts (rules 3 and 19). It must balance.

submitted = done + dead + cancelled + expired + pending + waiting + never accepted + lost + stuck
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Literal

from scenarios.judging.disturbances import first_crash_ns
from scenarios.judging.endings import is_done
from scenarios.judging.lateness import PromisedPause, answered_by, pauses_of
from scenarios.judging.leases import lease_end_ns
from scenarios.judging.policy import Policy
from scenarios.record.history import AttemptRecord, Event, FinalLists, History, TaskTimeline, earliest_ns, ns_of

Place = Literal["done", "dead", "cancelled", "expired", "pending", "waiting", "never_accepted", "lost", "stuck"]
PLACES: tuple[Place, ...] = (
    *("done", "dead", "cancelled", "expired", "pending", "waiting", "never_accepted", "lost", "stuck"),
)


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The number of submitted tasks in each place, and the names of the `lost` and the `stuck` ones, sorted.

    `pending`: tasks that had not ended when a run was cut short; none of them can be called lost or stuck. `waiting`: tasks that wait
    rightly at the end. `strangers`: tasks that the system lists and no client submitted. `contradiction`: why the account does not
    balance; empty if it does.
    """

    submitted: int
    counts: Mapping[Place, int]
    lost: tuple[str, ...]
    stuck: tuple[str, ...]
    strangers: tuple[str, ...]
    contradiction: str

    @property
    def balanced(self) -> bool:
        """Whether every submitted task is in exactly one place."""
        return not self.contradiction and self.submitted == sum(self.counts.values())


def reconcile(history: History, policy: Policy) -> Reconciliation:
    """The account of a history; without `final`, the account so far."""
    known = history.derived.get("reconciliation")
    if known is None or known[0] is not policy:
        known = history.derived["reconciliation"] = (policy, _reconciled(history, policy))
    reconciliation: Reconciliation = known[1]
    return reconciliation


def _reconciled(history: History, policy: Policy) -> Reconciliation:
    final = history.final
    is_calm = final is not None and bool(final.healed) and bool(final.caught_up)
    pauses = pauses_of(history)
    counts: dict[Place, int] = dict.fromkeys(PLACES, 0)
    lost = []
    stuck = []
    submitted = 0
    for timeline in history.tasks.values():
        if not timeline.is_submitted:
            continue
        submitted += 1
        place = _place(history, timeline, policy, is_calm=is_calm)
        if place == "lost" and any(
            _is_accounted(history, history.tasks[other], policy) for other in answered_by(history, timeline)
        ):
            place = "done"
        elif place == "lost" and _came_later(history, timeline):
            place = "pending"
        elif place == "stuck" and waits_rightly(history, timeline, policy, pauses):
            place = "waiting"
        counts[place] += 1
        if place == "lost":
            lost.append(timeline.task)
        elif place == "stuck":
            stuck.append(timeline.task)
    lists = history.lists
    strangers = _strangers(history, lists)
    if is_calm:
        stuck.extend(task for task in strangers if task in lists.pending)
    return Reconciliation(
        submitted, counts, tuple(sorted(lost)), tuple(sorted(stuck)), strangers, _contradiction(lists)
    )


def _came_later(history: History, timeline: TaskTimeline) -> bool:
    """Whether it was accepted when the account had already been asked for: a system makes tasks of its own as long as it runs."""
    return history.final is not None and timeline.acknowledged_ns >= earliest_ns(history.final)


def waits_rightly(history: History, timeline: TaskTimeline, policy: Policy, pauses: Sequence[PromisedPause]) -> bool:
    """Whether a task may still be pending at the end: its due time, its retry or its lease's end comes after `final` (rule 19).

    Or its scope is paused.
    """
    final = history.final
    if final is None:
        return False
    tolerance_ns = ns_of(policy.tolerance_s or 0.0)
    due_s = timeline.due_s
    if due_s is not None and ns_of(due_s[1]) + tolerance_ns > final.t_ns:
        return True
    if any(pause.from_ns <= final.t_ns < pause.until_ns and pause.stops(timeline) for pause in pauses):
        return True
    last = timeline.attempts[-1] if timeline.attempts else None
    if last is None or last.round < len(timeline.redrives_ns):
        return False
    retry_ns = latest_retry_ns(timeline, last, policy)
    if retry_ns is not None and retry_ns + tolerance_ns > final.t_ns:
        return True
    return _lease_ends_ns(history, last, policy, final.t_ns) > final.t_ns


def latest_retry_ns(timeline: TaskTimeline, failure: AttemptRecord, policy: Policy) -> int | None:
    """The latest moment of the retry after this failure, by `delays_s`; None if there is no retry, or the policy does not state it."""
    if failure.outcome != "fail" or failure.ended_ns is None or policy.delays_s is None:
        return None
    if not policy.is_retried(failure.error):
        return None
    number = numbers_in_rounds(timeline)[id(failure)]
    if not 1 <= number <= len(policy.delays_s) or (policy.attempts_max is not None and number >= policy.attempts_max):
        return None
    return failure.ended_ns + ns_of(policy.delays_s[number - 1][1])


def numbers_in_rounds(timeline: TaskTimeline) -> dict[int, int]:
    """By `id` of each attempt its number, counted from 1 since the last redrive: given by the system, else by its position.

    An attempt that was claimed and never started has a number, too, which only a row shows.
    """
    if not timeline.redrives_ns:
        return {
            id(attempt): place if attempt.number is None else attempt.number
            for place, attempt in enumerate(timeline.attempts, start=1)
        }
    numbers: dict[int, int] = {}
    rows = [row for row in timeline.states if row.attempt is not None]
    rows_before, highest = 0, 0
    for round_, same_round in groupby(timeline.attempts, key=attrgetter("round")):
        while round_ and rows_before < len(rows) and rows[rows_before].t_ns < timeline.redrives_ns[round_ - 1]:
            highest = max(highest, rows[rows_before].attempt or 0)
            rows_before += 1
        base = highest  # the highest number of the earlier rounds
        for place, attempt in enumerate(same_round, start=1):
            number = attempt.number
            if number is None:
                numbers[id(attempt)] = place
            else:
                numbers[id(attempt)] = number - base if number > base else number
                highest = max(highest, number)
    return numbers


def _lease_ends_ns(history: History, attempt: AttemptRecord, policy: Policy, until_ns: int) -> int:
    """When the lease of this attempt expires: as recorded, else `lease_s` after its start or the crash of its worker."""
    recorded_ns = lease_end_ns(history, attempt, until_ns)
    if recorded_ns is not None:
        return recorded_ns
    if policy.lease_s is None or attempt.ended_ns is not None:
        return until_ns
    crashed_ns = first_crash_ns(history, attempt.actor, attempt.started_ns, until_ns)
    return max(attempt.started_ns, attempt.started_ns if crashed_ns is None else crashed_ns) + ns_of(policy.lease_s)


def _place(history: History, timeline: TaskTimeline, policy: Policy, *, is_calm: bool) -> Place:
    task, lists = timeline.task, history.lists
    if task in lists.pending:
        return "stuck" if is_calm else "pending"
    if task in lists.dead:
        return "dead"
    if task in lists.cancelled:
        return "cancelled"
    if task in lists.expired:
        return "expired"
    if is_done(history, timeline, policy):
        return "done"
    if not timeline.acknowledged:
        return "never_accepted"
    if not is_calm:
        return "pending"
    assert history.final is not None
    return _place_by_events(timeline, history.final, policy)


def _place_by_events(timeline: TaskTimeline, final: Event, policy: Policy) -> Place:
    """The place that the events show, if the system cannot list such tasks; else lost."""
    last = timeline.states[-1].to if timeline.states else None
    if final.done is None and last == "SUCCEEDED":
        return "done"
    if final.dead is None and (
        last in ("DEAD", "FAILED") or _was_read_as_dead(timeline) or _was_given_up(timeline, policy)
    ):
        return "dead"
    if final.cancelled is None and (last == "CANCELLED" or timeline.cancelled_ns is not None):
        return "cancelled"
    if final.expired is None and last == "EXPIRED":
        return "expired"
    return "lost"


def _was_read_as_dead(timeline: TaskTimeline) -> bool:
    """Whether clients know that it failed: the last status that was read of it, since any redrive, and after its last attempt began."""
    last = timeline.statuses[-1] if timeline.statuses else None
    if last is None or last.state not in ("DEAD", "FAILED"):
        return False
    if timeline.attempts and timeline.attempts[-1].started_ns > last.t_ns:
        return False  # some systems say so between two attempts; what became of the last one was not read
    return not any(instant > earliest_ns(last) for instant in timeline.redrives_ns)


def _was_given_up(timeline: TaskTimeline, policy: Policy) -> bool:
    died_ns = timeline.deads[-1].t_ns if timeline.deads else None
    if died_ns is not None and not any(instant > died_ns for instant in timeline.redrives_ns):
        return True
    failures = [attempt for attempt in timeline.attempts if attempt.outcome == "fail"]
    latest = [failure for failure in failures if failure.round == len(timeline.redrives_ns)]
    if any(policy.is_permanent(failure.error) for failure in latest):
        return True
    return policy.attempts_max is not None and len(latest) >= policy.attempts_max


def _is_accounted(history: History, timeline: TaskTimeline, policy: Policy) -> bool:
    lists = history.lists
    task = timeline.task
    return is_done(history, timeline, policy) or any(
        task in listed for listed in (lists.dead, lists.cancelled, lists.expired, lists.pending)
    )


def _strangers(history: History, lists: FinalLists) -> tuple[str, ...]:
    listed = lists.done | lists.dead | lists.cancelled | lists.expired | lists.pending
    return tuple(sorted(task for task in listed if task not in history.tasks or not history.tasks[task].is_submitted))


def _contradiction(lists: FinalLists) -> str:
    """A task that is in two lists. Dead and done is a violation of another promise (rule 8) and no contradiction."""
    ended = lists.done | lists.dead
    pairs = (
        ("cancelled", lists.cancelled & ended),
        ("expired", lists.expired & (ended | lists.cancelled)),
        ("pending", lists.pending & (ended | lists.cancelled | lists.expired)),
    )
    for name, both in pairs:
        if both:
            return f"the account does not balance: task {min(both)!r} is listed as {name} and in another list, too"
    return ""

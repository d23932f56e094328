"""The account of a run: where every submitted task ended, by identity, never by counts (rule 3). It must balance.

submitted = done + dead + cancelled + expired + pending + never accepted + lost + stuck
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from scenarios.judging.policy import Policy
from scenarios.record.history import Event, History, TaskTimeline

Place = Literal["done", "dead", "cancelled", "expired", "pending", "never_accepted", "lost", "stuck"]
PLACES: tuple[Place, ...] = ("done", "dead", "cancelled", "expired", "pending", "never_accepted", "lost", "stuck")


@dataclass(frozen=True, slots=True)
class Listing:
    """The lists of `final` as sets; empty where there is no such list."""

    done: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    cancelled: frozenset[str] = frozenset()
    expired: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()


def listing(history: History) -> Listing:
    """What the system listed at the end."""
    final = history.final
    if final is None:
        return Listing()
    return Listing(
        frozenset(final.done or ()),
        frozenset(final.dead or ()),
        frozenset(final.cancelled or ()),
        frozenset(final.expired or ()),
        frozenset(final.pending or ()),
    )


def is_done(history: History, timeline: TaskTimeline, lists: Listing) -> bool:
    """Listed as done, or an attempt ended ok; where the history records no end of any attempt, an accepted effect."""
    return timeline.succeeded or timeline.task in lists.done or (not history.records_ends and bool(timeline.effects))


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """How many submitted tasks ended where. Of what must not happen, `lost` and `stuck`, the tasks by name, sorted.

    `pending` counts what had not ended when a run was cut short: nothing can be called lost or stuck then. `strangers` are tasks
    listed by the system that nobody submitted. `contradiction` says why the account does not balance, where it does not.
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
    """The account of a history; of one without an end, how far it got."""
    lists = listing(history)
    final = history.final
    is_calm = final is not None and bool(final.healed) and bool(final.caught_up)
    counts: dict[Place, int] = dict.fromkeys(PLACES, 0)
    lost = []
    stuck = []
    submitted = 0
    for timeline in history.tasks.values():
        if not timeline.is_submitted:
            continue
        submitted += 1
        place = _place(history, timeline, lists, policy, is_calm=is_calm)
        if place == "lost" and _is_answered_by_another(history, timeline, lists):
            place = "done"
        counts[place] += 1
        if place == "lost":
            lost.append(timeline.task)
        elif place == "stuck":
            stuck.append(timeline.task)
    strangers = _strangers(history, lists)
    if is_calm:
        stuck.extend(task for task in strangers if task in lists.pending)
    return Reconciliation(
        submitted, counts, tuple(sorted(lost)), tuple(sorted(stuck)), strangers, _contradiction(lists)
    )


def _place(history: History, timeline: TaskTimeline, lists: Listing, policy: Policy, *, is_calm: bool) -> Place:
    task = timeline.task
    if task in lists.pending:
        return "stuck" if is_calm else "pending"
    if task in lists.dead:
        return "dead"
    if task in lists.cancelled:
        return "cancelled"
    if task in lists.expired:
        return "expired"
    if is_done(history, timeline, lists):
        return "done"
    if not timeline.acknowledged:
        return "never_accepted"
    if not is_calm:
        return "pending"
    assert history.final is not None
    return _place_by_events(timeline, history.final, policy)


def _place_by_events(timeline: TaskTimeline, final: Event, policy: Policy) -> Place:
    """Where the events say that a task ended of which the system cannot list such tasks; else it is lost."""
    last = timeline.states[-1].to if timeline.states else None
    if final.done is None and last == "SUCCEEDED":
        return "done"
    if final.dead is None and (last in ("DEAD", "FAILED") or _was_given_up(timeline, policy)):
        return "dead"
    if final.cancelled is None and (last == "CANCELLED" or timeline.cancelled_ns is not None):
        return "cancelled"
    if final.expired is None and last == "EXPIRED":
        return "expired"
    return "lost"


def _was_given_up(timeline: TaskTimeline, policy: Policy) -> bool:
    died_ns = timeline.deads[-1].t_ns if timeline.deads else None
    if died_ns is not None and not any(instant > died_ns for instant in timeline.redrives_ns):
        return True
    failures = [attempt for attempt in timeline.attempts if attempt.outcome == "fail"]
    latest = [failure for failure in failures if failure.round == len(timeline.redrives_ns)]
    if any(failure.error == "permanent" for failure in latest):
        return True
    return policy.attempts_max is not None and len(latest) >= policy.attempts_max


def _is_answered_by_another(history: History, timeline: TaskTimeline, lists: Listing) -> bool:
    """Whether every acknowledgement of this task named another task of the same user and key that is accounted for."""
    for answers in history.keyed.values():
        ids = answers.get(timeline.task)
        if not ids:
            continue
        for other, others_ids in answers.items():
            if (
                other != timeline.task
                and set(ids) <= set(others_ids)
                and _is_accounted(history, history.tasks[other], lists)
            ):
                return True
    return False


def _is_accounted(history: History, timeline: TaskTimeline, lists: Listing) -> bool:
    task = timeline.task
    return (
        is_done(history, timeline, lists)
        or task in lists.dead
        or task in lists.cancelled
        or task in lists.expired
        or task in lists.pending
    )


def _strangers(history: History, lists: Listing) -> tuple[str, ...]:
    listed = lists.done | lists.dead | lists.cancelled | lists.expired | lists.pending
    return tuple(sorted(task for task in listed if task not in history.tasks or not history.tasks[task].is_submitted))


def _contradiction(lists: Listing) -> str:
    """Which task is in two lists at once. Dead and done is a broken promise of its own (rule 8), and no failure to count."""
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

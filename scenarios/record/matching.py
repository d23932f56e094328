"""Assigns ends, acknowledgements and reports to attempts, and orders starts of equal time (docs/history.md, Corners)."""

from bisect import bisect_right
from itertools import pairwise

from scenarios.record.events import Event
from scenarios.record.timeline import FOREVER_NS, AttemptRecord, TaskTimeline

ACK_RANK = {None: 0, "invoke": 1, "info": 2, "ok": 3}
"""How much is known about an acknowledgement; a later event never lowers it."""
SEARCHED_MAX = 32
"""Maximum number of attempts of a task for which a linear search is faster than an index."""
_ANY = object()
"""Any number, or none."""


def attempt_of(attempts: list[AttemptRecord], event: Event, *, still_open: bool) -> AttemptRecord | None:
    """The attempt that an end, an acknowledgement or a report belongs to.

    The latest start of the same actor whose number, if both have one, is the same; else the latest of that number by any actor.
    """
    of_number = None
    for attempt in reversed(attempts):
        if still_open and attempt.outcome:
            continue
        agrees = attempt.number == event.attempt
        if attempt.actor == event.actor and (agrees or attempt.number is None or event.attempt is None):
            return attempt
        if agrees and of_number is None and event.attempt is not None:
            of_number = attempt
    return of_number


class AttemptFinder:
    """The same results as `attempt_of`, by an index: for one task with many attempts.

    `attempts` may grow; an attempt that has an outcome keeps it.
    """

    def __init__(self, attempts: list[AttemptRecord]) -> None:
        self._attempts = attempts
        self._indexed = 0
        self._latest: dict[tuple[str | None, object], int] = {}
        """Position of the latest attempt, by actor (None: any actor) and number (`_ANY`: any number)."""
        self._open: dict[tuple[str | None, object], list[int]] = {}
        """Positions of all attempts that may still be open, by the same keys."""

    def find(self, event: Event, *, still_open: bool) -> AttemptRecord | None:
        """The attempt that an end, an acknowledgement or a report belongs to."""
        self._index()
        latest = self._latest_open if still_open else self._latest_of_all
        if event.attempt is None:
            place = latest(event.actor, _ANY)
        else:
            place = max(latest(event.actor, event.attempt), latest(event.actor, None))
            place = latest(None, event.attempt) if place < 0 else place
        return None if place < 0 else self._attempts[place]

    def _index(self) -> None:
        for place in range(self._indexed, len(self._attempts)):
            attempt = self._attempts[place]
            for name in ((attempt.actor, attempt.number), (attempt.actor, _ANY), (None, attempt.number)):
                self._latest[name] = place
                self._open.setdefault(name, []).append(place)
        self._indexed = len(self._attempts)

    def _latest_of_all(self, actor: str | None, number: object) -> int:
        return self._latest.get((actor, number), -1)

    def _latest_open(self, actor: str | None, number: object) -> int:
        places = self._open.get((actor, number), [])
        while places and self._attempts[places[-1]].outcome:
            places.pop()
        return places[-1] if places else -1


class AttemptFinders:
    """Finds attempts of every task: a linear search up to `SEARCHED_MAX` attempts, an index above."""

    def __init__(self) -> None:
        self._by_task: dict[str, AttemptFinder] = {}

    def find(self, timeline: TaskTimeline, event: Event, *, still_open: bool) -> AttemptRecord | None:
        """The attempt that an end, an acknowledgement or a report belongs to."""
        if len(timeline.attempts) <= SEARCHED_MAX:
            return attempt_of(timeline.attempts, event, still_open=still_open)
        finder = self._by_task.get(timeline.task)
        if finder is None:
            finder = self._by_task[timeline.task] = AttemptFinder(timeline.attempts)
        return finder.find(event, still_open=still_open)


def count_rounds(timeline: TaskTimeline) -> None:
    """Set for each attempt the number of redrives before it."""
    for attempt in timeline.attempts:
        attempt.round = bisect_right(timeline.redrives_ns, attempt.started_ns)


def order_simultaneous(attempts: list[AttemptRecord]) -> None:
    """Order starts of equal time independently of the order of lines: by number, then by end and outcome."""
    if any(one.started_ns == other.started_ns for one, other in pairwise(attempts)):
        attempts.sort(key=_canonical_order)


def _canonical_order(attempt: AttemptRecord) -> tuple[int, int, int, str, int]:
    return (
        attempt.started_ns,
        FOREVER_NS if attempt.number is None else attempt.number,
        FOREVER_NS if attempt.ended_ns is None else attempt.ended_ns,
        attempt.outcome or "",
        ACK_RANK[attempt.ack],
    )

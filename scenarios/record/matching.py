"""Assigns ends, acknowledgements and reports to attempts, and orders starts of equal time (docs/history.md, Corners)."""

from itertools import pairwise

from scenarios.record.events import Event
from scenarios.record.timeline import FOREVER_NS, AttemptRecord, TaskTimeline

ACK_RANK = {None: 0, "invoke": 1, "info": 2, "ok": 3}
"""How much is known about an acknowledgement; a later event never lowers it."""


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


def count_rounds(timeline: TaskTimeline) -> None:
    """Set for each attempt the number of redrives before it."""
    for attempt in timeline.attempts:
        attempt.round = sum(instant <= attempt.started_ns for instant in timeline.redrives_ns)


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

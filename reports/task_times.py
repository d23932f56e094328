"""The instants of each task that the charts need, taken from the record's own timelines."""

from dataclasses import dataclass

from scenarios.record.events import FINAL_STATES, Event
from scenarios.record.history import History, TaskTimeline


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """First submission, first acknowledgement, first accepted effect and end of one task, in ns; None: not recorded.

    `lacks_effect`: the task is acknowledged, has no effect, and is neither dead, failed, cancelled nor expired.
    """

    task: str
    submitted_ns: int | None
    acknowledged_ns: int | None
    effect_ns: int | None
    ended_ns: int | None
    lacks_effect: bool


def times_of(history: History) -> tuple[TaskTimes, ...]:
    """The times of every task of a history, in the order in which the tasks first appear."""
    final = history.final
    listed_done = frozenset(final.done or ()) if final else frozenset()
    listed_other = (
        frozenset((*(final.dead or ()), *(final.cancelled or ()), *(final.expired or ()))) if final else frozenset()
    )
    return tuple(
        _times(history, timeline, is_done=task in listed_done, is_other=task in listed_other)
        for task, timeline in history.tasks.items()
    )


def _times(history: History, timeline: TaskTimeline, *, is_done: bool, is_other: bool) -> TaskTimes:
    """`is_done`, `is_other`: the final account lists the task as done; as dead, cancelled or expired."""
    ended_ns = _ended_ns(timeline, effect_is_end=not history.records_ends)
    if ended_ns is None and (is_done or is_other) and history.final is not None:
        ended_ns = history.final.t_ns  # it had ended by then, although no process recorded its end
    acknowledged_ns = _first_ns(timeline, "submit.ok")
    effect_ns = timeline.effects[0].t_ns if timeline.effects else None
    return TaskTimes(
        timeline.task,
        _first_ns(timeline, "submit.invoke"),
        acknowledged_ns,
        effect_ns,
        ended_ns,
        lacks_effect=acknowledged_ns is not None and effect_ns is None and not is_other and not _gave_up(timeline),
    )


def _first_ns(timeline: TaskTimeline, event: str) -> int | None:
    return next((one.t_ns for one in timeline.submissions if one.event == event), None)


def _ended_ns(timeline: TaskTimeline, *, effect_is_end: bool) -> int | None:
    """The first end after the last redrive: an attempt that succeeded, a dead letter, a cancellation, a row in a final state."""
    ends_ns = [
        attempt.ended_ns for attempt in timeline.attempts if attempt.outcome == "ok" and attempt.ended_ns is not None
    ]
    ends_ns += [event.t_ns for event in _events_of_ends(timeline, effect_is_end=effect_is_end)]
    if timeline.cancelled_ns is not None:
        ends_ns.append(timeline.cancelled_ns)
    if timeline.redrives_ns:
        ends_ns = [end_ns for end_ns in ends_ns if end_ns > timeline.redrives_ns[-1]]
    return min(ends_ns, default=None)


def _events_of_ends(timeline: TaskTimeline, *, effect_is_end: bool) -> list[Event]:
    return [
        *timeline.successes_without_start,
        *timeline.deads,
        *(state for state in timeline.states if state.to in FINAL_STATES),
        *(timeline.effects if effect_is_end else ()),
    ]


def _gave_up(timeline: TaskTimeline) -> bool:
    states = {state.to for state in timeline.states}
    return bool(timeline.deads) or timeline.cancelled_ns is not None or bool(states & (FINAL_STATES - {"SUCCEEDED"}))

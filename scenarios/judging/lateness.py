"""What excuses a task that is late: faults, pauses of its scope, an end by another way. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios.judging.policy import Policy
from scenarios.record.history import FOREVER_NS, History, TaskTimeline, ns_of

_EVERYTHING = (None, "", "all", "global", "*")
_CLOSED = frozenset({"CANCELLED", "EXPIRED", "DEAD", "FAILED"})


@dataclass(frozen=True, slots=True)
class PromisedPause:
    """From a promised pause until the resumption (never: `FOREVER_NS`). `scope` None: of every task."""

    scope: str | None
    from_ns: int
    until_ns: int

    def stops(self, timeline: TaskTimeline) -> bool:
        """Whether it is a pause of this task."""
        return self.scope is None or any(event.scope == self.scope for event in timeline.submissions)


def pauses_of(history: History) -> list[PromisedPause]:
    """Every pause of the history. A second pause before the resumption changes nothing."""
    if not history.pauses:
        return []
    scopes_known = any(event.scope for timeline in history.tasks.values() for event in timeline.submissions)
    begun: dict[str | None, int] = {}
    pauses = []
    for event in history.pauses:
        scope = None if event.scope in _EVERYTHING or not scopes_known else event.scope
        if event.event == "pause.ok":
            begun.setdefault(scope, event.t_ns)
            continue
        for ended in list(begun) if scope is None else [scope]:
            since_ns = begun.pop(ended, None)
            if since_ns is not None:
                pauses.append(PromisedPause(ended, since_ns, event.t_ns))
    return [*pauses, *(PromisedPause(scope, since_ns, FOREVER_NS) for scope, since_ns in begun.items())]


class AllowedDelays:
    """The faults and pauses of a history, asked how far they move a bound."""

    def __init__(self, history: History, policy: Policy) -> None:
        self._faults = history.faults
        self.pauses: Sequence[PromisedPause] = pauses_of(history)
        self._budget_ns = ns_of(policy.budget_s or 0.0)

    def extended_ns(self, timeline: TaskTimeline, bound_ns: int, from_ns: int, until_ns: int) -> int:
        """The bound, moved by each fault, and each pause of the task, between these instants: to its end and `budget_s` more."""
        ends_ns = [span.healed_ns for span in self._faults if span.overlaps(from_ns, until_ns)]
        ends_ns += [
            pause.until_ns
            for pause in self.pauses
            if pause.from_ns <= until_ns and pause.until_ns >= from_ns and pause.stops(timeline)
        ]
        return max([bound_ns, *(min(FOREVER_NS, end_ns + self._budget_ns) for end_ns in ends_ns)])

    def is_paused_at(self, timeline: TaskTimeline, instant: int) -> bool:
        """Whether the task was paused then."""
        return any(pause.from_ns <= instant < pause.until_ns and pause.stops(timeline) for pause in self.pauses)


def closed_ns(history: History, timeline: TaskTimeline) -> int:
    """When the task was cancelled, expired or dead, since the last redrive; FOREVER_NS if it never was.

    Before every instant, if it is only listed so: then it may have been so in time.
    """
    since_ns = timeline.redrives_ns[-1] if timeline.redrives_ns else -FOREVER_NS
    closed = [instant for instant in timeline.cancels_ns if instant >= since_ns]
    closed += [event.t_ns for event in timeline.deads if event.t_ns >= since_ns]
    closed += [row.t_ns for row in timeline.states if row.to in _CLOSED and row.t_ns >= since_ns]
    if closed:
        return min(closed)
    lists = history.lists
    listed = timeline.task in lists.cancelled or timeline.task in lists.expired or timeline.task in lists.dead
    return -FOREVER_NS if listed else FOREVER_NS


def is_awaited(history: History, timeline: TaskTimeline) -> bool:
    """Whether the task is the system's to carry out: acknowledged or listed as pending, and no resubmission of another."""
    if timeline.task in history.lists.pending:
        return True
    return timeline.acknowledged > 0 and not is_answered_by_another(history, timeline)


def never_started(history: History, timeline: TaskTimeline) -> bool:
    """Whether nothing shows that it was ever carried out, nor does the account."""
    return not timeline.ran and timeline.task not in history.lists.done


def is_answered_by_another(history: History, timeline: TaskTimeline) -> bool:
    """Whether the acknowledgements of this task named another one that was there before: then it is that task, and never runs itself."""
    if timeline.ran:
        return False
    since_ns = timeline.acknowledged_ns
    others = (history.tasks[other] for other in answered_by(history, timeline))
    return any(other.ran or other.acknowledged_ns < since_ns for other in others)


def answered_by(history: History, timeline: TaskTimeline) -> Iterator[str]:
    """The other tasks of the same user and key that were answered every id that this one was answered."""
    if timeline.keyed is None:
        return
    for named in dict.fromkeys((event.user, event.key) for event in timeline.submissions if event.key is not None):
        answers = history.keyed.get(named, {})
        ids = frozenset(answers.get(timeline.task, ()))
        if ids:
            yield from (other for other, others in answers.items() if other != timeline.task and ids.issubset(others))

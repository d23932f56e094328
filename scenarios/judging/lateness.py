"""Excuses for a late task: faults, pauses of its scope, another end. Pure."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios.judging.policy import Policy
from scenarios.record.history import FOREVER_NS, History, TaskTimeline, earliest_ns, ns_of

_EVERYTHING = (None, "", "all", "global", "*")
_CLOSED = frozenset({"CANCELLED", "EXPIRED", "DEAD", "FAILED"})


@dataclass(frozen=True, slots=True)
class PromisedPause:
    """From an acknowledged pause until the resumption (never: `FOREVER_NS`). `scope` None: all tasks.

    `surely_until_ns`: when the resumption was requested; from then on tasks may start.
    """

    scope: str | None
    from_ns: int
    until_ns: int
    surely_until_ns: int

    def stops(self, timeline: TaskTimeline) -> bool:
        """Whether the pause applies to this task."""
        return self.scope is None or any(event.scope == self.scope for event in timeline.submissions)


def pauses_of(history: History) -> list[PromisedPause]:
    """All pauses of the history. A second pause before the resumption has no effect."""
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
                pauses.append(PromisedPause(ended, since_ns, event.t_ns, earliest_ns(event)))
    open_ = [PromisedPause(scope, since_ns, FOREVER_NS, FOREVER_NS) for scope, since_ns in begun.items()]
    return [*pauses, *open_]


def crashes_ns(history: History) -> list[int]:
    """When processes crashed, in order."""
    return sorted(event.t_ns for crashes in history.crashes.values() for event in crashes)


class AllowedDelays:
    """Extends time bounds by the faults and pauses of a history; `crashes_ns`: and by crashes at these instants, in order."""

    def __init__(self, history: History, policy: Policy, crashes_ns: Sequence[int] = ()) -> None:
        self._crashes_ns = crashes_ns
        self._faults = history.faults
        self.pauses: Sequence[PromisedPause] = pauses_of(history)
        self._budget_ns = ns_of(policy.budget_s or 0.0)

    def extended_ns(
        self, timeline: TaskTimeline, bound_ns: int, from_ns: int, until_ns: int, *, by_any: bool = False
    ) -> int:
        """The bound, extended to the end plus `budget_s` of every fault, crash, and pause of the task, that held the task up.

        That is one that overlaps the time from `from_ns` to `until_ns` and began by the bound, as far as others have extended it: what
        comes later finds the task late already. `by_any`: all that overlap.
        """
        spans = sorted(self._spans(timeline, from_ns, until_ns))
        before_ns = None
        while before_ns != bound_ns:
            before_ns = bound_ns
            for begun_ns, ended_ns in spans:
                if by_any or begun_ns <= bound_ns:
                    bound_ns = max(bound_ns, min(FOREVER_NS, ended_ns + self._budget_ns))
            last = bisect_right(self._crashes_ns, min(bound_ns, until_ns)) - 1
            if last >= 0 and self._crashes_ns[last] >= from_ns:
                bound_ns = max(bound_ns, self._crashes_ns[last] + self._budget_ns)
        return bound_ns

    def _spans(self, timeline: TaskTimeline, from_ns: int, until_ns: int) -> Iterator[tuple[int, int]]:
        for fault in self._faults:
            if fault.overlaps(from_ns, until_ns):
                yield fault.begun_ns, fault.healed_ns
        for pause in self.pauses:
            if pause.from_ns <= until_ns and pause.until_ns >= from_ns and pause.stops(timeline):
                yield pause.from_ns, pause.until_ns


def closed_ns(history: History, timeline: TaskTimeline) -> int:
    """When the task was first cancelled, expired or dead after the last redrive; FOREVER_NS if it never was.

    `-FOREVER_NS` if only a list says so: it may have been in time.
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
    """Whether the system must run the task: it is listed as pending, or acknowledged and not a resubmission of another."""
    if timeline.task in history.lists.pending:
        return True
    return timeline.acknowledged > 0 and not is_answered_by_another(history, timeline)


def never_started(history: History, timeline: TaskTimeline) -> bool:
    """Whether neither an event nor the account shows that it ran."""
    return not timeline.ran and timeline.task not in history.lists.done


def is_answered_by_another(history: History, timeline: TaskTimeline) -> bool:
    """Whether its acknowledgements named an older task: then it is the same task, and never runs itself."""
    if timeline.ran:
        return False
    since_ns = timeline.acknowledged_ns
    others = (history.tasks[other] for other in answered_by(history, timeline))
    return any(other.ran or other.acknowledged_ns < since_ns for other in others)


def answered_by(history: History, timeline: TaskTimeline) -> Iterator[str]:
    """Other tasks of the same user and key whose answers contained every id that the answers to this one contained."""
    if timeline.keyed is None:
        return
    for named in dict.fromkeys((event.user, event.key) for event in timeline.submissions if event.key is not None):
        answers = history.keyed.get(named, {})
        ids = frozenset(answers.get(timeline.task, ()))
        if ids:
            yield from (other for other, others in answers.items() if other != timeline.task and ids.issubset(others))

"""The record of a run: what each process saw, on one shared clock, with the indexes that judges need (docs/history.md)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Any

from scenarios.record.events import (
    FINAL_LISTS,
    NS_PER_S,
    REQUIRED_FIELDS,
    Event,
    MalformedEvent,
    decode_event,
    event_from,
)
from scenarios.record.timeline import FOREVER_NS, AttemptRecord, FaultSpan, TaskTimeline

__all__ = [
    "FINAL_LISTS",
    "FOREVER_NS",
    "NS_PER_S",
    "REQUIRED_FIELDS",
    "AttemptRecord",
    "Event",
    "FaultSpan",
    "History",
    "Malformed",
    "MalformedEvent",
    "Recorded",
    "TaskTimeline",
    "decode_event",
    "event_from",
]

_ACK_RANK = {None: 0, "invoke": 1, "info": 2, "ok": 3}


class _Timelines(dict[str, TaskTimeline]):
    def __missing__(self, task: str) -> TaskTimeline:
        timeline = self[task] = TaskTimeline(task)
        return timeline


class History:
    """All events of one run in the order of their time, and what judges ask of them, gathered in one pass.

    Events of equal time keep the order they came in; no judge takes that order for proof between two actors.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.events: list[Event] = sorted(events, key=attrgetter("t_ns"))
        self.tasks: dict[str, TaskTimeline] = _Timelines()
        self.keyed: dict[tuple[str | None, str], dict[str, list[str]]] = defaultdict(dict)
        """By user and idempotency key: the tasks submitted under it, each with the ids that it was answered."""
        self.faults: list[FaultSpan] = []
        self.crashes_ns: dict[str, list[int]] = defaultdict(list)
        """By actor."""
        self.leases: dict[str, list[Event]] = defaultdict(list)
        """By resource: acquired, renewed, released."""
        self.writes: dict[str, list[Event]] = defaultdict(list)
        """By resource: those accepted."""
        self.refused_writes: dict[str, list[Event]] = defaultdict(list)
        """By resource."""
        self.refused_effects: dict[str, list[Event]] = defaultdict(list)
        """By task."""
        self.allowed_ns: dict[tuple[str, str], list[int]] = defaultdict(list)
        """By limit and user."""
        self.denied: Counter[tuple[str, str]] = Counter()
        """By limit and user."""
        self.pauses: list[Event] = []
        """`pause.ok` and `resume.ok`."""
        self.secrets: list[Event] = []
        """`secret.sought` and `secret.found`."""
        self.final: Event | None = None
        """The account after the drain, or None where the run never got that far."""
        self.records_ends = False
        self.records_states = False
        self.last_end_ns: int | None = None
        """When the last attempt ended."""
        self._index()

    def leases_on(self, task: str) -> list[Event] | None:
        """The lease events of a task: those whose resource is named after it."""
        return self.leases.get(task) or self.leases.get(f"task:{task}")

    def count_in(self, *, last_end_ns: int | None, records_states: bool) -> None:
        """Take account of events that are not among these: of tasks that were only counted (scenarios/judging/unremarkable.py)."""
        self.records_states = self.records_states or records_states
        if last_end_ns is not None:
            self.records_ends = True
            self.last_end_ns = last_end_ns if self.last_end_ns is None else max(last_end_ns, self.last_end_ns)

    def _index(self) -> None:
        tasks = self.tasks
        take: dict[str, Callable[[Any], None]] = {  # what each event has to have is checked where it is decoded
            **dict.fromkeys(("submit.invoke", "submit.ok", "submit.fail", "submit.info"), self._take_submission),
            "attempt.start": self._take_start,
            "attempt.ok": self._take_end,
            "attempt.fail": self._take_end,
            **dict.fromkeys(("ack.invoke", "ack.ok", "ack.info"), self._take_ack),
            "effect": lambda event: tasks[event.task].effects.append(event),
            "state": self._take_state,
            "status": lambda event: tasks[event.task].statuses.append(event),
            "dead": lambda event: tasks[event.task].deads.append(event),
            "redrive": lambda event: tasks[event.task].redrives_ns.append(event.t_ns),
            "cancel.ok": self._take_cancel,
            "progress": self._take_progress,
            "crash": lambda event: self.crashes_ns[event.actor].append(event.t_ns),
            **dict.fromkeys(
                ("lease.acquired", "lease.renewed", "lease.released"),
                lambda event: self.leases[event.resource].append(event),
            ),
            "write": lambda event: self.writes[event.resource].append(event),
            "write.rejected": lambda event: self.refused_writes[event.resource].append(event),
            "effect.rejected": lambda event: self.refused_effects[event.task].append(event),
            "allowed": lambda event: self.allowed_ns[event.limit, event.user].append(event.t_ns),
            "denied": lambda event: self.denied.update([(event.limit, event.user)]),
            **dict.fromkeys(("pause.ok", "resume.ok"), self.pauses.append),
            **dict.fromkeys(("fault.begin", "fault.bit", "fault.healed"), self._take_fault),
            **dict.fromkeys(("secret.sought", "secret.found"), self.secrets.append),
            "final": self._take_final,
        }
        for event in self.events:
            taker = take.get(event.event)
            if taker is not None:
                taker(event)
        for timeline in tasks.values():
            if timeline.redrives_ns:
                _count_rounds(timeline)
            if len(timeline.attempts) > 1:
                _order_simultaneous(timeline.attempts)
        self.records_ends = self.records_ends or self._misses_no_end()

    def _misses_no_end(self) -> bool:
        """Whether there are attempts, and every one of them was cut short by the death of its actor: then none could end."""
        attempts = [attempt for timeline in self.tasks.values() for attempt in timeline.attempts]
        return bool(attempts) and all(
            any(crashed_ns >= attempt.started_ns for crashed_ns in self.crashes_ns.get(attempt.actor, ()))
            for attempt in attempts
        )

    def _timeline(self, event: Event) -> TaskTimeline:
        assert event.task is not None, "the vocabulary requires a task"
        return self.tasks[event.task]

    def _take_submission(self, event: Event) -> None:
        timeline = self._timeline(event)
        timeline.submissions.append(event)
        match event.event:
            case "submit.invoke":
                timeline.invoked += 1
            case "submit.ok":
                timeline.acknowledged += 1
            case "submit.fail":
                timeline.refused += 1
            case "submit.info":
                timeline.unsure += 1
        self._take_key(timeline, event)

    def _take_key(self, timeline: TaskTimeline, event: Event) -> None:
        """An answer may leave out the key and the user that its invocation named."""
        named = next((one for one in reversed(timeline.submissions) if one.key is not None), None)
        if named is None:
            return
        key = event.key or named.key
        assert key is not None
        user = event.user if event.user is not None else named.user
        ids = self.keyed[user, key].setdefault(timeline.task, [])
        if event.event == "submit.ok" and event.id is not None:
            ids.append(str(event.id))

    def _take_start(self, event: Event) -> None:
        timeline = self._timeline(event)
        timeline.attempts.append(AttemptRecord(timeline.task, event.actor, event.attempt, event.t_ns, 0))

    def _take_end(self, event: Event) -> None:
        timeline = self._timeline(event)
        ok = event.event == "attempt.ok"
        self.records_ends = True
        self.last_end_ns = event.t_ns
        if ok:
            timeline.succeeded = True
        attempt = _attempt_of(timeline.attempts, event, still_open=True)
        if attempt is None:
            if not ok:
                timeline.failures_without_start.append(event)
            return
        attempt.ended_ns = event.t_ns
        attempt.outcome = "ok" if ok else "fail"
        attempt.error = event.error

    def _take_ack(self, event: Event) -> None:
        attempts = self._timeline(event).attempts
        attempt = _attempt_of(attempts, event, still_open=False)
        if attempt is None and event.attempt is None and attempts:
            attempt = attempts[-1]  # seen by somebody else, the broker or the lab: it was for the latest delivery
        stage = event.event[4:]
        if attempt is not None and _ACK_RANK[stage] > _ACK_RANK[attempt.ack]:
            attempt.ack = stage  # type: ignore[assignment]

    def _take_state(self, event: Event) -> None:
        self.records_states = True
        self._timeline(event).states.append(event)

    def _take_cancel(self, event: Event) -> None:
        timeline = self._timeline(event)
        if timeline.cancelled_ns is None:
            timeline.cancelled_ns = event.t_ns

    def _take_progress(self, event: Event) -> None:
        timeline = self._timeline(event)
        attempt = _attempt_of(timeline.attempts, event, still_open=False)
        name = (None, None, event.attempt) if attempt is None else (attempt.actor, attempt.started_ns, attempt.number)
        timeline.progress.append((name, event))

    def _take_fault(self, event: Event) -> None:
        fault, target = event.fault, event.target
        if event.event == "fault.begin":
            assert fault is not None
            assert target is not None
            self.faults.append(FaultSpan(fault, target, event.t_ns))
            return
        for span in self.faults:
            if span.fault == fault and span.target == target and span.healed_ns == FOREVER_NS:
                if event.event == "fault.healed":
                    span.healed_ns = event.t_ns
                    return
                if not span.bit:
                    span.bit = True
                    return

    def _take_final(self, event: Event) -> None:
        self.final = event


def _attempt_of(attempts: list[AttemptRecord], event: Event, *, still_open: bool) -> AttemptRecord | None:
    """The attempt that an end, an acknowledgement or a report belongs to.

    The latest start of the same actor whose number does not contradict; else the latest of that number, whoever started it.
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


def _count_rounds(timeline: TaskTimeline) -> None:
    for attempt in timeline.attempts:
        attempt.round = sum(instant <= attempt.started_ns for instant in timeline.redrives_ns)


def _order_simultaneous(attempts: list[AttemptRecord]) -> None:
    """Starts of equal time get an order that does not depend on the order of lines: by number, then by what became of them."""
    if any(one.started_ns == other.started_ns for one, other in pairwise(attempts)):
        attempts.sort(key=_canonical_order)


def _canonical_order(attempt: AttemptRecord) -> tuple[int, int, int, str, int]:
    return (
        attempt.started_ns,
        FOREVER_NS if attempt.number is None else attempt.number,
        FOREVER_NS if attempt.ended_ns is None else attempt.ended_ns,
        attempt.outcome or "",
        _ACK_RANK[attempt.ack],
    )


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line of a history that is no event, and why. `line` counts from 1; 0 means the file as a whole."""

    file: str
    line: int
    why: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.why}"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was read of a history: the events, what was no event, and how many torn last lines were passed over."""

    history: History
    malformed: tuple[Malformed, ...] = ()
    torn: int = 0
    sources: tuple[str, ...] = ()

"""The record of a run: what each process saw, on one shared clock, with the indexes that checkers need (docs/history.md)."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
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
    ns_of,
)
from scenarios.record.matching import ACK_RANK, AttemptFinders, count_rounds, order_simultaneous
from scenarios.record.timeline import (
    ACKNOWLEDGEMENTS,
    FOREVER_NS,
    STARTED_NS,
    ActorLeases,
    AttemptRecord,
    FaultSpan,
    FinalLists,
    TaskTimeline,
    leases_by_actor,
)

__all__ = [
    "ACKNOWLEDGEMENTS",
    "FINAL_LISTS",
    "FOREVER_NS",
    "NS_PER_S",
    "REQUIRED_FIELDS",
    "AttemptRecord",
    "Event",
    "FaultSpan",
    "FinalLists",
    "History",
    "Malformed",
    "MalformedEvent",
    "Recorded",
    "TaskTimeline",
    "decode_event",
    "earliest_ns",
    "event_from",
    "ns_of",
]


class _Timelines(dict[str, TaskTimeline]):
    def __missing__(self, task: str) -> TaskTimeline:
        timeline = self[task] = TaskTimeline(task)
        return timeline


class History:
    """All events of one run, ordered by time, with indexes for the checkers, built in one pass.

    Events of equal time keep their input order; no checker treats that order as evidence between two actors.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.events: list[Event] = sorted(events, key=attrgetter("t_ns"))
        self.tasks: dict[str, TaskTimeline] = _Timelines()
        self.keyed: dict[tuple[str | None, str], dict[str, list[str]]] = defaultdict(dict)
        """By user and idempotency key: the tasks submitted under it, each with the ids in the answers to its submissions."""
        self.faults: list[FaultSpan] = []
        self.crashes: dict[str, list[Event]] = defaultdict(list)
        """By actor, in order of time."""
        self.restarts_ns: dict[str, list[int]] = defaultdict(list)
        """By actor."""
        self.last_ns: int = self.events[-1].t_ns if self.events else 0
        """End of the record: later times are unknown."""
        self.leases: dict[str, list[Event]] = defaultdict(list)
        """By resource: acquired, renewed, released."""
        self.writes: dict[str, list[Event]] = defaultdict(list)
        """Accepted writes, by resource."""
        self.refused_writes: dict[str, list[Event]] = defaultdict(list)
        """By resource."""
        self.refused_effects: dict[str, list[Event]] = defaultdict(list)
        """By task."""
        self.allowed_ns: dict[tuple[str, str], list[int]] = defaultdict(list)
        """By limit and user."""
        self.denied: dict[tuple[str, str], list[Event]] = defaultdict(list)
        """By limit and user."""
        self.key_events: dict[tuple[str | None, str], list[Event]] = defaultdict(list)
        """By user and idempotency key: submissions under it and their acknowledgements."""
        self.spawns: list[Event] = []
        self.pauses: list[Event] = []
        """`pause.ok` and `resume.ok`."""
        self.secrets: list[Event] = []
        """`secret.sought` and `secret.found`."""
        self.final: Event | None = None
        """The account after the drain; None if the run ended earlier."""
        self.derived: dict[str, tuple[object, Any]] = {}
        """Results that checkers derived from these events, by name, each with the policy it was computed for."""
        self.records_ends = False
        self.records_states = False
        self.last_end_ns: int | None = None
        """When the last attempt ended."""
        self._finders = AttemptFinders()
        self._index()

    def leases_of(self, task: str, actor: str) -> list[ActorLeases]:
        """This actor's lease events that protect work on a task, by resource."""
        own = ((name, actor) for name in self.leases_on(task))
        return [self.actor_leases[name] for name in own if name in self.actor_leases]

    @cached_property
    def actor_leases(self) -> dict[tuple[str, str], ActorLeases]:
        """By resource and actor."""
        return leases_by_actor(self.leases)

    def leases_on(self, task: str) -> list[str]:
        """The resources whose leases protect work on a task: those named after the task, its order key or its scope."""
        if not self.leases:
            return []
        names = [task, f"task:{task}"]
        timeline = self.tasks.get(task)
        if timeline is not None:
            names += [f"order_key:{key}" for key in [timeline.stated("order_key")] if key is not None]
            names += [f"scope:{scope}" for scope in [timeline.stated("scope")] if scope is not None]
        return [name for name in names if name in self.leases]

    @property
    def end_ns(self) -> int:
        """End of the observed time: the account, or without one the last event."""
        return self.last_ns if self.final is None else self.final.t_ns

    @cached_property
    def lists(self) -> FinalLists:
        """The system's lists of its tasks at the end."""
        return FinalLists.of(self.final)

    def count_in(self, *, last_end_ns: int | None, records_states: bool, last_ns: int | None = None) -> None:
        """Include facts about events that are not in this history: those of unremarkable tasks (scenarios/judging/unremarkable.py)."""
        if last_ns is not None:
            self.last_ns = max(self.last_ns, last_ns)
        self.records_states = self.records_states or records_states
        if last_end_ns is not None:
            self.records_ends = True
            self.last_end_ns = last_end_ns if self.last_end_ns is None else max(last_end_ns, self.last_end_ns)

    def _handlers(self) -> dict[str, Callable[[Any], None]]:
        """The function that indexes each kind of event."""
        tasks = self.tasks
        return {  # the decoder has checked the required fields of each event
            **dict.fromkeys(("submit.invoke", "submit.ok", "submit.fail", "submit.info"), self._take_submission),
            "spawn": self._take_spawn,
            "attempt.start": self._take_start,
            "attempt.ok": self._take_end,
            "attempt.fail": self._take_end,
            **dict.fromkeys(("ack.invoke", "ack.ok", "ack.info"), self._take_ack),
            "effect": lambda event: tasks[event.task].effects.append(event),
            "state": self._take_state,
            "status": lambda event: tasks[event.task].statuses.append(event),
            "dead": self._take_dead,
            "redrive": lambda event: tasks[event.task].redrives_ns.append(event.t_ns),
            "cancel.ok": lambda event: tasks[event.task].cancels_ns.append(event.t_ns),
            "progress": self._take_progress,
            "crash": lambda event: self.crashes[event.actor].append(event),
            "restart": lambda event: self.restarts_ns[event.actor].append(event.t_ns),
            **dict.fromkeys(
                ("lease.acquired", "lease.renewed", "lease.released"),
                lambda event: self.leases[event.resource].append(event),
            ),
            "write": lambda event: self.writes[event.resource].append(event),
            "write.rejected": lambda event: self.refused_writes[event.resource].append(event),
            "effect.rejected": lambda event: self.refused_effects[event.task].append(event),
            "allowed": lambda event: self.allowed_ns[event.limit, event.user].append(event.t_ns),
            "denied": lambda event: self.denied[event.limit, event.user].append(event),
            **dict.fromkeys(("pause.ok", "resume.ok"), self.pauses.append),
            **dict.fromkeys(("fault.begin", "fault.bit", "fault.end", "fault.healed"), self._take_fault),
            **dict.fromkeys(("secret.sought", "secret.found"), self.secrets.append),
            "final": self._take_final,
        }

    def _index(self) -> None:
        tasks, handlers = self.tasks, self._handlers()
        for event in self.events:
            handler = handlers.get(event.event)
            if handler is not None:
                handler(event)
        self._take_lost_messages()
        for timeline in tasks.values():
            if timeline.redrives_ns:
                count_rounds(timeline)
            if len(timeline.attempts) > 1:
                order_simultaneous(timeline.attempts)
        self.records_ends = self.records_ends or self._all_attempts_crashed()

    def _all_attempts_crashed(self) -> bool:
        """Whether there are attempts and the actor of each one crashed after its start: then no end is missing from the record."""
        attempts = [attempt for timeline in self.tasks.values() for attempt in timeline.attempts]
        return bool(attempts) and all(
            attempt.actor in self.crashes and self.crashes[attempt.actor][-1].t_ns >= attempt.started_ns
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

    def _take_spawn(self, event: Event) -> None:
        """The system made a task itself: equivalent to an acknowledged submission."""
        timeline = self._timeline(event)
        timeline.submissions.append(event)
        timeline.invoked += 1
        timeline.acknowledged += 1
        self.spawns.append(event)
        self._take_key(timeline, event)

    def _take_key(self, timeline: TaskTimeline, event: Event) -> None:
        """An answer may omit the key and the user of its invocation."""
        if event.key is not None:
            timeline.keyed = event
        named = timeline.keyed
        if named is None:
            return
        key = event.key or named.key
        assert key is not None
        user = event.user if event.user is not None else named.user
        self.key_events[user, key].append(event)
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
            timeline.succeeded_ns = event.t_ns
            if event.children or event.then:
                timeline.handed_back = event
        attempt = self._finders.find(timeline, event, still_open=True)
        if attempt is None:
            ends = timeline.successes_without_start if ok else timeline.failures_without_start
            ends.append(event)
            return
        attempt.ended_ns = event.t_ns
        attempt.outcome = "ok" if ok else "fail"
        attempt.error = event.error
        attempt.result = event.result

    def _take_ack(self, event: Event) -> None:
        timeline = self._timeline(event)
        attempts = timeline.attempts
        attempt = self._finders.find(timeline, event, still_open=False)
        if attempt is None and event.attempt is None and attempts:
            attempt = attempts[-1]  # reported by the broker or the lab: it is for the latest delivery
        stage = event.event[4:]
        if attempt is None:
            if stage == "info":
                timeline.interrupted.append(event)
            return
        if ACK_RANK[stage] > ACK_RANK[attempt.ack]:
            attempt.ack = stage  # type: ignore[assignment]
        attempt.ack_is_unsure |= stage == "info"
        if stage == "ok" and attempt.acked_ns is None:
            attempt.acked_ns = event.t_ns

    def _take_lost_messages(self) -> None:
        """A swallowed acknowledgement belongs to the latest earlier start of the task that its message names."""
        on_acks = [span for span in self.faults if "ack" in span.fault.lower()]
        if not on_acks:
            return
        unsure_ns = [event.t_ns for event in self.events if event.event == "ack.info"]
        for span in on_acks:
            span.knows_its_messages |= any(span.begun_ns <= t_ns <= span.healed_ns for t_ns in unsure_ns)
        lost = [event for event in self.events if event.messages and event.event == "fault.bit" and _is_of_acks(event)]
        if not lost:
            return
        named = {task: task for task in self.tasks}
        for timeline in self.tasks.values():
            named.update((str(event.id), timeline.task) for event in timeline.submissions if event.id is not None)
        for event in lost:
            for message in event.messages or ():
                task = named.get(str(message))
                attempts = [] if task is None else self.tasks[task].attempts
                started = bisect_right(attempts, event.t_ns, key=STARTED_NS)
                if started:
                    before = attempts[started - 1]
                    before.ack_is_unsure = True
                    before.ack = before.ack if before.ack == "ok" else "info"

    def _take_state(self, event: Event) -> None:
        self.records_states = True
        timeline = self._timeline(event)
        timeline.states.append(event)
        if event.to in ("DEAD", "FAILED"):
            timeline.dead_ns = min(timeline.dead_ns, event.t_ns)

    def _take_dead(self, event: Event) -> None:
        timeline = self._timeline(event)
        timeline.deads.append(event)
        timeline.dead_ns = min(timeline.dead_ns, event.t_ns)

    def _take_progress(self, event: Event) -> None:
        timeline = self._timeline(event)
        attempt = self._finders.find(timeline, event, still_open=False)
        name = (None, None, event.attempt) if attempt is None else (attempt.actor, attempt.started_ns, attempt.number)
        timeline.progress.append((name, event))

    def _take_fault(self, event: Event) -> None:
        fault, target = event.fault, event.target
        if event.event == "fault.begin":
            assert fault is not None
            assert target is not None
            began = FaultSpan(fault, target, earliest_ns(event), surely_from_ns=event.t_ns, excuses=event.excuses)
            self.faults.append(began)
            return
        for span in self.faults:
            if span.fault == fault and span.target == target and span.healed_ns == FOREVER_NS:
                if event.event == "fault.healed":
                    span.healed_ns = event.t_ns
                    span.surely_until_ns = earliest_ns(event)
                    return
                if event.event == "fault.bit" and span.bit_ns is None:
                    span.bit_ns = earliest_ns(event)
                    span.knows_its_messages = bool(event.messages) and _is_of_acks(event)
                    return
                if event.event == "fault.end" and span.ended_ns is None:
                    span.ended_ns = event.t_ns
                    return

    def _take_final(self, event: Event) -> None:
        self.final = event


def _is_of_acks(event: Event) -> bool:
    return event.fault is not None and "ack" in event.fault.lower()


def earliest_ns(event: Event) -> int:
    """The earliest possible instant of this event: when it was asked for, if that is known."""
    return event.t_ns if event.asked_ns is None else min(event.asked_ns, event.t_ns)


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line of a history that is not an event, and why. `line` counts from 1; 0: the file as a whole."""

    file: str
    line: int
    why: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.why}"


@dataclass(frozen=True, slots=True)
class Recorded:
    """The content of a history's files: the events, the malformed lines, and the number of torn last lines that were skipped.

    `foreign_events`: by file of a process of the system, the names of events that such a process cannot know.
    """

    history: History
    malformed: tuple[Malformed, ...] = ()
    torn: int = 0
    sources: tuple[str, ...] = ()
    foreign_events: Mapping[str, frozenset[str]] = field(default_factory=dict)

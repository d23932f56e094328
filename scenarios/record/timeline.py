"""The record of one task, one attempt, one fault: built in one pass over the history, then only read."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

from scenarios.record.events import FINAL_LISTS, NS_PER_S, Event, ns_of

FOREVER_NS = 2**63 - 1
"""Later than every event."""
ACKNOWLEDGEMENTS = frozenset({"submit.ok", "spawn"})
"""Events after which the system is responsible for a task."""
STARTED_NS = attrgetter("started_ns")
"""Sort key of attempts."""
T_NS = attrgetter("t_ns")
"""Sort key of events."""


@dataclass(slots=True)
class AttemptRecord:
    """One start of a task's handler, with the end and the acknowledgement that belong to it.

    `number`: given by the system (None: it gave none). `round` counts the redrives before it. `ack`: the most that is known
    about its acknowledgement: None (never tried), then `invoke`, `info`, `ok`.
    """

    task: str
    actor: str
    number: int | None
    started_ns: int
    round: int
    ended_ns: int | None = None
    outcome: Literal["ok", "fail"] | None = None
    error: str | None = None
    ack: Literal["invoke", "info", "ok"] | None = None
    acked_ns: int | None = None
    """When its acknowledgement is first known to have arrived."""
    ack_is_unsure: bool = False
    """Whether its acknowledgement may have been lost: there is an `ack.info` for it."""
    result: str | int | float | bool | None = None

    def acked_by(self, instant: int) -> bool:
        """Whether its acknowledgement is known to have arrived by this instant (ns)."""
        return self.acked_ns is not None and self.acked_ns <= instant


AttemptName = tuple[str | None, int | None, int | None]
"""The attempt that a report belongs to: actor and instant of its start, and its number; only the number if no start matches."""


@dataclass(slots=True)
class TaskTimeline:
    """All events of one task. Lists are in order of time."""

    task: str
    invoked: int = 0
    acknowledged: int = 0
    refused: int = 0
    unsure: int = 0
    submissions: list[Event] = field(default_factory=list)
    attempts: list[AttemptRecord] = field(default_factory=list)
    effects: list[Event] = field(default_factory=list)
    states: list[Event] = field(default_factory=list)
    statuses: list[Event] = field(default_factory=list)
    progress: list[tuple[AttemptName, Event]] = field(default_factory=list)
    deads: list[Event] = field(default_factory=list)
    redrives_ns: list[int] = field(default_factory=list)
    cancels_ns: list[int] = field(default_factory=list)  # answers that promise: it will not run again
    succeeded: bool = False  # an attempt ended ok, whether or not its start is recorded
    succeeded_ns: int | None = None  # when the last attempt that ended ok did so
    failures_without_start: list[Event] = field(default_factory=list)
    successes_without_start: list[Event] = field(default_factory=list)
    handed_back: Event | None = None  # the last end of an attempt that demands tasks of the system's own
    dead_ns: int = FOREVER_NS  # its first dead letter or row to DEAD or FAILED
    interrupted: list[Event] = field(default_factory=list)  # `ack.info` of deliveries that had not been started
    keyed: Event | None = None  # the latest submission that states an idempotency key

    @property
    def is_submitted(self) -> bool:
        """Whether any client tried to submit it."""
        return bool(self.submissions)

    @property
    def is_possible(self) -> bool:
        """Whether it was acknowledged or may have been accepted: an invocation is ok, unknown or still open."""
        return self.acknowledged > 0 or self.unsure > 0 or self.invoked > self.refused

    @property
    def cancelled_ns(self) -> int | None:
        """When the first cancellation was acknowledged."""
        return self.cancels_ns[0] if self.cancels_ns else None

    @property
    def acknowledged_ns(self) -> int:
        """When it was first acknowledged or spawned by the system; FOREVER_NS if neither."""
        return next((event.t_ns for event in self.submissions if event.event in ACKNOWLEDGEMENTS), FOREVER_NS)

    @property
    def invoked_ns(self) -> int:
        """When a client first tried to submit it."""
        return self.submissions[0].t_ns

    def stated(self, field: Literal["order_key", "scope", "user"]) -> str | None:
        """The value of this field in the first submission that has one."""
        return next((value for event in self.submissions if (value := getattr(event, field)) is not None), None)

    @property
    def steps(self) -> int | None:
        """The number of steps that its submissions state, the greatest one; None: they state none."""
        return max((event.steps for event in self.submissions if event.steps is not None), default=None)

    @property
    def ran(self) -> bool:
        """Whether a handler started or ended for it, or an effect of it was accepted."""
        return bool(self.attempts or self.effects or self.succeeded or self.failures_without_start)

    def redriven_between(self, after_ns: int, until_ns: int) -> bool:
        """Whether a person redrove it in this time, bounds included."""
        return bisect_left(self.redrives_ns, after_ns) < bisect_right(self.redrives_ns, until_ns)

    def round_of(self, instant: int) -> int:
        """The number of redrives before this instant."""
        return bisect_left(self.redrives_ns, instant)

    def first_start_after(self, instant: int) -> AttemptRecord | None:
        """Its first attempt that started later than this instant."""
        place = bisect_right(self.attempts, instant, key=STARTED_NS)
        return self.attempts[place] if place < len(self.attempts) else None

    @property
    def deadline_s(self) -> float | None:
        """The latest deadline of its submissions."""
        stated = [event.deadline_s for event in self.submissions if event.deadline_s is not None]
        return max(stated) if stated else None

    @property
    def earliest_deadline_ns(self) -> int | None:
        """The earliest instant at which its deadline can pass: a system may count from its first submission, not from the answer."""
        left_s = [
            event.deadline_s - event.t_ns / NS_PER_S for event in self.submissions if event.deadline_s is not None
        ]
        return self.invoked_ns + ns_of(min(left_s)) if left_s else None

    @property
    def due_s(self) -> tuple[float, float] | None:
        """The earliest and the latest due time of its submissions."""
        stated = [event.due_s for event in self.submissions if event.due_s is not None]
        return (min(stated), max(stated)) if stated else None


@dataclass(slots=True)
class ActorLeases:
    """One actor's events about the lease on one resource, in order of time. `acquired`: only the acquisitions."""

    events: list[Event] = field(default_factory=list)
    acquired: list[Event] = field(default_factory=list)


def leases_by_actor(leases: Mapping[str, list[Event]]) -> dict[tuple[str, str], ActorLeases]:
    """By resource and actor. `leases`: by resource."""
    found: dict[tuple[str, str], ActorLeases] = defaultdict(ActorLeases)
    for resource, events in leases.items():
        for event in events:
            own = found[resource, event.actor]
            own.events.append(event)
            if event.event == "lease.acquired":
                own.acquired.append(event)
    return dict(found)


@dataclass(slots=True)
class FaultSpan:
    """One fault from the earliest possible moment of its begin until its target was seen healthy (never: `FOREVER_NS`).

    `ended_ns`: when it was lifted. `bit_ns`: the earliest possible moment of its effect, if an effect was seen.
    `surely_from_ns` and `surely_until_ns` bound the time in which it was certainly on. `excuses`: the repeats that it explains
    (`crash`, `pause` or `disturbance`), if the history states them.
    """

    fault: str
    target: str
    begun_ns: int
    bit_ns: int | None = None
    ended_ns: int | None = None
    healed_ns: int = FOREVER_NS
    knows_its_messages: bool = False  # the messages that it hit are known; it explains no repeat of another
    surely_from_ns: int = 0
    surely_until_ns: int = FOREVER_NS
    excuses: str | None = None

    @property
    def bit(self) -> bool:
        """Whether it was seen to take effect."""
        return self.bit_ns is not None

    def overlaps(self, from_ns: int, until_ns: int) -> bool:
        """Whether it may have been on at any instant of this time, bounds included."""
        return self.begun_ns <= until_ns and self.healed_ns >= from_ns


@dataclass(frozen=True, slots=True)
class FinalLists:
    """The lists of `final` as sets; a missing list is empty."""

    done: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    cancelled: frozenset[str] = frozenset()
    expired: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()

    @classmethod
    def of(cls, final: Event | None) -> "FinalLists":
        """The lists of an account; all are empty without an account."""
        return cls() if final is None else cls(*(frozenset(getattr(final, name) or ()) for name in FINAL_LISTS))

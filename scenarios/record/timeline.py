"""What a history says of one task, of one attempt, of one fault: gathered in one pass, then only read."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

from scenarios.record.events import FINAL_LISTS, Event

FOREVER_NS = 2**63 - 1
"""Later than every event."""
ACKNOWLEDGEMENTS = frozenset({"submit.ok", "spawn"})
"""Events from which a task is the system's to carry out."""
STARTED_NS = attrgetter("started_ns")
"""The order of attempts."""
T_NS = attrgetter("t_ns")
"""The order of events."""


@dataclass(slots=True)
class AttemptRecord:
    """One start of a task's handler, with the end and the acknowledgement that belong to it.

    `number` is what the system called it (null: it gave none). `round` counts the redrives before it. `ack` is the most that
    is known of its acknowledgement: None (never tried), then `invoke`, `info`, `ok`.
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
    """Whether its acknowledgement may have been lost, by the word of an `ack.info` for it."""
    result: str | int | float | bool | None = None

    def acked_by(self, instant: int) -> bool:
        """Whether its acknowledgement is known to have arrived by then."""
        return self.acked_ns is not None and self.acked_ns <= instant


AttemptName = tuple[str | None, int | None, int | None]
"""Which attempt a report belongs to: actor and instant of its start, and its number; the number alone where no start fits."""


@dataclass(slots=True)
class TaskTimeline:
    """Everything that was seen of one task. Lists are in the order of time."""

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
    cancels_ns: list[int] = field(default_factory=list)  # promises that it will not run again
    succeeded: bool = False  # an attempt of it ended ok, whether or not its start was seen
    succeeded_ns: int | None = None  # when the last attempt that ended ok did so
    failures_without_start: list[Event] = field(default_factory=list)
    successes_without_start: list[Event] = field(default_factory=list)
    buried_ns: int = FOREVER_NS  # when a dead letter or an audit row first says that it was given up
    keyed: Event | None = None  # the latest submission that named an idempotency key

    @property
    def is_submitted(self) -> bool:
        """Whether any client ever tried to hand it in."""
        return bool(self.submissions)

    @property
    def is_possible(self) -> bool:
        """Whether it was acknowledged or may have been accepted: an invocation is ok, unknown or still open."""
        return self.acknowledged > 0 or self.unsure > 0 or self.invoked > self.refused

    @property
    def cancelled_ns(self) -> int | None:
        """The first promise that it will not run again."""
        return self.cancels_ns[0] if self.cancels_ns else None

    @property
    def acknowledged_ns(self) -> int:
        """When it was first acknowledged, or the system made it itself; FOREVER_NS if neither."""
        return next((event.t_ns for event in self.submissions if event.event in ACKNOWLEDGEMENTS), FOREVER_NS)

    @property
    def invoked_ns(self) -> int:
        """When any client first tried to hand it in."""
        return self.submissions[0].t_ns

    def stated(self, field: Literal["order_key", "scope", "user"]) -> str | None:
        """What the first of its submissions that names this says of it."""
        return next((value for event in self.submissions if (value := getattr(event, field)) is not None), None)

    @property
    def ran(self) -> bool:
        """Whether a handler started or ended for it, or an effect of it was accepted."""
        return bool(self.attempts or self.effects or self.succeeded or self.failures_without_start)

    def redriven_between(self, after_ns: int, until_ns: int) -> bool:
        """Whether a person put it back in this time, its bounds included."""
        return bisect_left(self.redrives_ns, after_ns) < bisect_right(self.redrives_ns, until_ns)

    def round_of(self, instant: int) -> int:
        """How many redrives came before this instant."""
        return bisect_left(self.redrives_ns, instant)

    def first_start_after(self, instant: int) -> AttemptRecord | None:
        """Its first attempt that started later than this."""
        place = bisect_right(self.attempts, instant, key=STARTED_NS)
        return self.attempts[place] if place < len(self.attempts) else None

    @property
    def deadline_s(self) -> float | None:
        """The latest deadline that any of its submissions stated."""
        stated = [event.deadline_s for event in self.submissions if event.deadline_s is not None]
        return max(stated) if stated else None

    @property
    def due_s(self) -> tuple[float, float] | None:
        """The earliest and the latest time for which it was scheduled."""
        stated = [event.due_s for event in self.submissions if event.due_s is not None]
        return (min(stated), max(stated)) if stated else None


@dataclass(slots=True)
class ActorLeases:
    """What one actor did with the lease on one resource, in the order of time; `acquired`: the acquisitions alone."""

    events: list[Event] = field(default_factory=list)
    acquired: list[Event] = field(default_factory=list)


def leases_by_actor(leases: Mapping[str, list[Event]]) -> dict[tuple[str, str], ActorLeases]:
    """By resource and actor; `leases` by resource."""
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
    """One fault from the earliest moment at which it can have begun until its target was seen healthy (never: `FOREVER_NS`).

    `ended_ns`: when it was lifted. `bit_ns`: the earliest moment at which it can have taken effect, where it was seen to.
    `surely_from_ns` and `surely_until_ns` bound the time in which it was on beyond doubt. `excuses`: which repeats it explains
    (`crash`, `pause` or `disturbance`), where the history states it.
    """

    fault: str
    target: str
    begun_ns: int
    bit_ns: int | None = None
    ended_ns: int | None = None
    healed_ns: int = FOREVER_NS
    knows_its_messages: bool = False  # the messages that it hit are known, and it explains nothing of any other
    surely_from_ns: int = 0
    surely_until_ns: int = FOREVER_NS
    excuses: str | None = None

    @property
    def bit(self) -> bool:
        """Whether it was seen to take effect."""
        return self.bit_ns is not None

    def overlaps(self, from_ns: int, until_ns: int) -> bool:
        """Whether it was on at any instant of this time, bounds included."""
        return self.begun_ns <= until_ns and self.healed_ns >= from_ns


@dataclass(frozen=True, slots=True)
class FinalLists:
    """The lists of `final` as sets; empty where there is no such list."""

    done: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    cancelled: frozenset[str] = frozenset()
    expired: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()

    @classmethod
    def of(cls, final: Event | None) -> "FinalLists":
        """The lists of an account; none of them holds a task where there is no account."""
        return cls() if final is None else cls(*(frozenset(getattr(final, name) or ()) for name in FINAL_LISTS))

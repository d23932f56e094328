"""The record of a run: what each process saw, as events of one vocabulary on one shared clock (docs/history.md)."""

from collections.abc import Iterable
from functools import cached_property

import msgspec

NS_PER_S = 1_000_000_000

REQUIRED_FIELDS: dict[str, tuple[str, ...]] = {
    "submit.invoke": ("task",),
    "submit.ok": ("task",),
    "submit.fail": ("task",),
    "submit.info": ("task",),
    "attempt.start": ("task",),
    "attempt.ok": ("task",),
    "attempt.fail": ("task", "error"),
    "effect": ("task",),
    "effect.rejected": ("task",),
    "ack.invoke": ("task",),
    "ack.ok": ("task",),
    "ack.info": ("task",),
    "state": ("task", "to"),
    "dead": ("task", "attempts", "reason"),
    "redrive": ("task",),
    "cancel.invoke": ("task",),
    "cancel.ok": ("task",),
    "cancel.fail": ("task",),
    "cancel.info": ("task",),
    "pause.ok": (),
    "resume.ok": (),
    "lease.acquired": ("resource", "ttl_s"),
    "lease.renewed": ("resource", "ttl_s"),
    "lease.released": ("resource",),
    "write": ("resource",),
    "write.rejected": ("resource",),
    "allowed": ("limit", "user"),
    "denied": ("limit", "user"),
    "progress": ("task", "percent"),
    "status": ("task", "state"),
    "crash": (),
    "restart": (),
    "fault.begin": ("fault", "target"),
    "fault.bit": ("fault", "target"),
    "fault.end": ("fault", "target"),
    "fault.healed": ("fault", "target"),
    "final": ("healed", "caught_up"),
}
"""Every event name of the vocabulary, with the fields it cannot do without (beside `event`, `actor` and the time)."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, rename={"from_": "from"}):
    """One line of a history: what `actor` saw at `t_ns` (nanoseconds since the run began, one clock for all actors).

    Which of the other fields an event has is said by its name (`REQUIRED_FIELDS`, docs/history.md).
    """

    event: str
    actor: str
    t_ns: int | None = None
    t_s: float | None = None  # foreign histories may carry seconds; decoded events always have t_ns
    task: str | None = None
    attempt: int | None = None
    step: int | str = 1
    fence: int | None = None
    key: str | None = None
    user: str | None = None
    id: str | int | None = None
    due_s: float | None = None
    deadline_s: float | None = None
    error: str | None = None
    from_: str | None = None
    to: str | None = None
    state: str | None = None
    attempts: int | None = None
    reason: str | None = None
    scope: str | None = None
    resource: str | None = None
    ttl_s: float | None = None
    limit: str | None = None
    percent: float | None = None
    fault: str | None = None
    target: str | None = None
    healed: bool | None = None
    caught_up: bool | None = None
    done: tuple[str, ...] | None = None
    dead: tuple[str, ...] | None = None
    cancelled: tuple[str, ...] | None = None
    expired: tuple[str, ...] | None = None
    pending: tuple[str, ...] | None = None
    detail: str | None = None  # free words for people; judges never read them


class MalformedEvent(ValueError):
    """A line is not an event of the vocabulary; the message says why, the caller knows where."""


_decoder = msgspec.json.Decoder(Event)


def decode_event(line: bytes) -> Event:
    """The event that one JSON line holds.

    Raises:
        MalformedEvent: not JSON, an unknown event name, a missing field or a wrong type.
    """
    try:
        event = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedEvent(str(error)) from error
    required = REQUIRED_FIELDS.get(event.event)
    if required is None:
        raise MalformedEvent(f"unknown event {event.event!r}")
    for field in required:
        if getattr(event, field) is None:
            raise MalformedEvent(f"{event.event} without {field!r}")
    if event.t_ns is not None:
        return event
    if event.t_s is None:
        raise MalformedEvent(f"{event.event} without a time: neither 't_ns' nor 't_s'")
    return msgspec.structs.replace(event, t_ns=round(event.t_s * NS_PER_S), t_s=None)


class History:
    """All events of one run in the order of their time; events of equal time keep the order they came in."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events: list[Event] = sorted(events, key=lambda event: event.t_ns or 0)

    @cached_property
    def final(self) -> Event | None:
        """The account after the drain, or None where the run never got that far."""
        return next((event for event in reversed(self.events) if event.event == "final"), None)

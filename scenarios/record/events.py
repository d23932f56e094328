"""The vocabulary of a history: the events, their fields, and the decoding of a line into an event (docs/history.md)."""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

NS_PER_S = 1_000_000_000
INSTANT_MAX_NS = 2**63 - 1


def ns_of(seconds: float) -> int:
    """Whole nanoseconds, clamped to about `INSTANT_MAX_NS` in both directions."""
    return round(max(-INSTANT_MAX_S, min(seconds, INSTANT_MAX_S)) * NS_PER_S)


INSTANT_MAX_S = 9.2e9
UNTIMED = -(2**63)
"""The `t_ns` of an event that was built without a time; a decoded event never has it."""

Seconds = Annotated[float, msgspec.Meta(ge=-INSTANT_MAX_S, le=INSTANT_MAX_S)]
"""A duration or an instant that whole nanoseconds can express; the decoder refuses any other."""
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A number of 64 bits; the decoder refuses any other."""

REQUIRED_FIELDS: dict[str, tuple[str, ...]] = {
    "submit.invoke": ("task",),
    "submit.ok": ("task",),
    "submit.fail": ("task",),
    "submit.info": ("task",),
    "spawn": ("task",),
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
    "secret.sought": ("target",),
    "secret.found": ("target",),
    "final": ("healed", "caught_up"),
}
"""Every event name of the vocabulary, with its required fields (beside `event`, `actor` and the time)."""

UNKNOWN_TO_PROCESSES = frozenset(
    {
        *("submit.invoke", "submit.ok", "submit.fail", "submit.info", "status", "redrive"),
        *("cancel.invoke", "cancel.ok", "cancel.fail", "cancel.info", "pause.ok", "resume.ok"),
        *("effect", "effect.rejected", "write", "write.rejected"),
        *("crash", "restart", "fault.begin", "fault.bit", "fault.end", "fault.healed"),
        *("secret.sought", "secret.found", "final"),
    }
)
"""Events of clients, of the outside resource and of the lab: the history file of a process of the system must not hold one."""
_FILE_OF_A_PROCESS = re.compile(r"history\..+\.\d+\.jsonl(?:\.gz)?")


def is_of_process(file: str) -> bool:
    """Whether a process of the system wrote this history file: its name contains a process id. Names of the lab's own files do not."""
    return _FILE_OF_A_PROCESS.fullmatch(file) is not None


FINAL_LISTS = ("done", "dead", "cancelled", "expired", "pending")
"""The lists of tasks in `final`; null or missing: the system does not keep this list."""

FINAL_STATES = frozenset({"SUCCEEDED", "FAILED", "DEAD", "CANCELLED", "EXPIRED"})
"""The states in which a task has ended."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, rename={"from_": "from"}):
    """One line of a history: what `actor` saw at `t_ns` (nanoseconds since the run began, one clock for all actors).

    The name of the event decides which of the other fields it has (`REQUIRED_FIELDS`, docs/history.md).
    """

    # The order in which the recorder writes them: it decodes fastest.
    t_ns: int = UNTIMED
    actor: str
    event: str
    task: str | None = None
    attempt: Whole | None = None
    step: int | str = 1
    fence: Whole | None = None
    key: str | None = None
    user: str | None = None
    id: str | int | None = None
    due_s: Seconds | None = None
    deadline_s: Seconds | None = None
    priority: Whole | None = None
    order_key: str | None = None
    error: str | None = None
    from_: str | None = None
    to: str | None = None
    state: str | None = None
    attempts: Whole | None = None
    reason: str | None = None
    scope: str | None = None
    resource: str | None = None
    ttl_s: Seconds | None = None
    limit: str | None = None
    percent: float | None = None
    fault: str | None = None
    target: str | None = None
    excuses: Literal["crash", "pause", "disturbance"] | None = None  # of a fault: which repeats it explains
    healed: bool | None = None
    caught_up: bool | None = None
    done: tuple[str, ...] | None = None
    dead: tuple[str, ...] | None = None
    cancelled: tuple[str, ...] | None = None
    expired: tuple[str, ...] | None = None
    pending: tuple[str, ...] | None = None
    t_s: float | None = None  # foreign histories may carry seconds; decoded events always have t_ns
    clean: bool | None = None  # of a crash: the process ended by itself, as it was told to
    asked_ns: Whole | None = None  # the earliest possible instant of the event: it happened between this and t_ns
    result: str | int | float | bool | None = None  # a digest of the result that an attempt returned or a client read
    steps: Whole | None = None  # of a submission: the number of effects that the task is to have, its steps 1 and so on
    children: tuple[str, ...] | None = None  # of an attempt that ended ok: the tasks that the system has to make of it
    then: str | None = None  # and the one that it has to make when all of these are done
    parent: str | None = None  # of a task that the system made itself: its parent task
    schedule: str | None = None  # of an occurrence that the system made itself: the name of its schedule
    messages: tuple[str | int, ...] | None = None  # of a fault on messages: the ids of exactly the messages that it hit
    detail: str | None = None  # free text for people; checkers never read it


class MalformedEvent(ValueError):
    """A line is not an event of the vocabulary; the message says why, the caller adds the file and line."""


_decode_line: Callable[[bytes | msgspec.Raw], Event] = msgspec.json.Decoder(Event).decode


_decode_names = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NAME_END = re.compile(rb'"\s*:')


def _may_repeat_a_name(content: bytes) -> bool:
    """Whether a name may occur twice in this JSON object: the decoder would silently use the last value.

    No false negatives. A false positive needs a nested object, or a text with a quote before a colon.
    """
    names = len(_decode_names(content))
    return content.count(b":") != names and len(_NAME_END.findall(content)) != names


def decode_event(line: bytes | msgspec.Raw) -> Event:
    """Decode one JSON line.

    Raises:
        MalformedEvent: not JSON, a name twice in one object, an unknown event, a missing field, a wrong type or an impossible time.
    """
    try:
        event = _decode_line(line)
        content = bytes(line)
        if _may_repeat_a_name(content):
            json.loads(content, object_pairs_hook=_refuse_repeated_names, parse_int=str, parse_float=str)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedEvent(str(error)) from error
    return checked(event)


def _refuse_repeated_names(pairs: list[tuple[str, object]]) -> None:
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise MalformedEvent(f"the name {name!r} occurs {count} times in one object")


def event_from(fields: Any) -> Event:
    """The event of an already parsed JSON object; raises `MalformedEvent` as `decode_event` does."""
    try:
        event = msgspec.convert(fields, Event)
    except (msgspec.ValidationError, RecursionError) as error:
        raise MalformedEvent(str(error)) from error
    return checked(event)


def checked(event: Event) -> Event:
    """The event, with its time in nanoseconds; raises `MalformedEvent` if a required field is missing or the time is impossible."""
    required = REQUIRED_FIELDS.get(event.event)
    if required is None:
        raise MalformedEvent(f"unknown event {event.event!r}")
    for field in required:
        if getattr(event, field) is None:
            raise MalformedEvent(f"{event.event} without {field!r}")
    if event.t_ns == UNTIMED:
        event = _with_nanoseconds(event)
    elif abs(event.t_ns) > INSTANT_MAX_NS:
        raise MalformedEvent(f"{event.event} at an impossible time: {event.t_ns} ns")
    if event.event == "final":
        _refuse_repeats(event)
    return event


def _with_nanoseconds(event: Event) -> Event:
    if event.t_s is None:
        raise MalformedEvent(f"{event.event} without a time: neither 't_ns' nor 't_s'")
    if not abs(event.t_s) * NS_PER_S < INSTANT_MAX_NS:  # NaN and infinities fail this, too
        raise MalformedEvent(f"{event.event} at an impossible time: {event.t_s} s")
    return msgspec.structs.replace(event, t_ns=round(event.t_s * NS_PER_S), t_s=None)


def _refuse_repeats(final: Event) -> None:
    """An account is by identity: each list names a task at most once."""
    for name in FINAL_LISTS:
        tasks = getattr(final, name) or ()
        if len(set(tasks)) < len(tasks):
            [(task, _)] = Counter(tasks).most_common(1)
            raise MalformedEvent(f"final names task {task!r} twice in {name!r}")

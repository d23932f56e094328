"""One strict pass over a part of a history file: checks every line, and keeps the events that the checkers must see.

Types and rules are those for small histories (scenarios/stored/reading.py): the same lines are malformed. One exception: a name that
occurs twice in a line is found only in a block that is read line by line, because the check would take a fifth of the time.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import msgspec

from scenarios.record.events import (
    FINAL_LISTS,
    INSTANT_MAX_NS,
    REQUIRED_FIELDS,
    UNKNOWN_TO_PROCESSES,
    Event,
    MalformedEvent,
    checked,
    decode_event,
    is_of_process,
)
from scenarios.record.timeline import FOREVER_NS
from scenarios.stored.reading import DAMAGED, LINE_BYTES_MAX, MALFORMED_MAX, TRAIL, damaged, open_history, went_back

BLOCK_BYTES = 2**16
"""Small enough that its events stay in the processor's cache: twice as fast as a megabyte."""
UNKNOWN_END = 2**62
"""The end of a part of unknown length (a packed file)."""

_TASK_EVENTS = frozenset(
    {
        *("submit.invoke", "submit.ok", "submit.fail", "submit.info", "attempt.start", "attempt.ok"),
        *("effect", "effect.rejected", "ack.invoke", "ack.ok", "ack.info", "cancel.ok"),
    }
)
"""Events whose only required field is `task`."""

_RESOURCE_EVENTS = frozenset({"lease.acquired", "lease.renewed", "lease.released", "write", "write.rejected"})

_GLOBAL_EVENTS = frozenset(
    {
        *("crash", "restart", "fault.begin", "fault.bit", "fault.end", "fault.healed", "pause.ok", "resume.ok"),
        *("allowed", "denied", "secret.sought", "secret.found"),
    }
)
"""Events that belong to no task or resource; always kept."""

_COMMON_FIELDS = (
    *("t_ns", "actor", "event", "task", "attempt", "step", "fence", "key", "user", "id", "error", "from_", "to"),
    *("state", "percent", "resource", "ttl_s", "asked_ns", "attempts", "reason", "detail", "steps"),
)


def _common_event() -> type[Any]:
    """An event type with only the most common fields, which decodes a third faster than `Event`.

    It is stricter: no other field, no unknown name, no time out of bounds. Lines that fail are decoded as `Event`.
    """
    narrower = {
        "t_ns": Annotated[int, msgspec.Meta(ge=-INSTANT_MAX_NS, le=INSTANT_MAX_NS)],
        "event": Literal[tuple(REQUIRED_FIELDS)],
    }
    fields = {field.name: field for field in msgspec.structs.fields(Event)}
    required = [(name, narrower.get(name, fields[name].type)) for name in _COMMON_FIELDS[:3]]
    optional = [(name, fields[name].type, fields[name].default) for name in _COMMON_FIELDS[3:]]
    return msgspec.defstruct(
        "_CommonEvent",
        [*required, *optional],
        rename={"from_": "from"},
        frozen=True,
        forbid_unknown_fields=True,
        omit_defaults=True,
        gc=False,
    )


_decode_common = msgspec.json.Decoder(_common_event()).decode_lines
_decode_any = msgspec.json.Decoder(Event).decode_lines


@dataclass(frozen=True, slots=True)
class Part:
    """Whole lines of a file: bytes from `begin` to `end`. A packed file is one part; positions count its plain bytes."""

    file: str
    begin: int
    end: int
    is_last: bool


@dataclass(slots=True)
class Scanned:
    """The result for one part. `malformed`: line in the part (from 1), and why.

    `first_ns` and `latest_ns`: by actor, to check order between parts; `trail_…`: the same for its audit rows.
    `trail_went_back`: audit rows were out of order; only an exact pass shows whether rows of one task were.
    """

    kept: bytes = b""
    malformed: list[tuple[int, str]] = field(default_factory=list)
    lines: int = 0
    events: int = 0
    finals: list[int] = field(default_factory=list)
    torn: int = 0
    first_ns: dict[str, int] = field(default_factory=dict)
    latest_ns: dict[str, int] = field(default_factory=dict)
    trail_first_ns: dict[str, int] = field(default_factory=dict)
    trail_latest_ns: dict[str, int] = field(default_factory=dict)
    trail_went_back: bool = False
    foreign_events: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ScanJob:
    """The parts that one process scans, and how."""

    parts: list[Part]
    remarkable: frozenset[str]
    exact_trail: bool
    is_sorted: bool = True


def scan(part: Part, remarkable: frozenset[str], *, exact_trail: bool, is_sorted: bool = True) -> Scanned:
    """Check every line of the part; keep the events of the tasks and resources in `remarkable`, and those that belong to none.

    `exact_trail`: check the order of audit rows for each task separately, not for all rows of an actor.
    """
    scanner = _Scanner(remarkable, exact_trail, is_sorted=is_sorted, is_of_process=is_of_process(Path(part.file).name))
    try:
        with open_history(Path(part.file)) as stream:
            for block, is_last in _blocks(stream, part):
                scanner.take(block, is_last=is_last)
    except DAMAGED as error:
        scanner.break_off(damaged(error))
    return scanner.result()


class _Latest(dict[str, int]):
    """Time of each actor's latest event; `FOREVER_NS` before its first one, which therefore takes the slow path."""

    def __missing__(self, actor: str) -> int:
        return FOREVER_NS


class _Scanner:
    def __init__(self, remarkable: frozenset[str], exact_trail: bool, *, is_sorted: bool, is_of_process: bool) -> None:
        self._remarkable = remarkable
        self._exact_trail = exact_trail
        self._is_sorted = is_sorted
        self._is_of_process = is_of_process
        self._scanned = Scanned(latest_ns=_Latest(), trail_latest_ns=_Latest())
        self._kept: list[Event] = []
        self._trail_ns: dict[tuple[str, str | None], int] = {}

    def result(self) -> Scanned:
        """All results so far."""
        self._scanned.kept = msgspec.msgpack.encode(self._kept)
        return self._scanned

    def break_off(self, why: str) -> None:
        """Stop: the rest of the file cannot be read."""
        self._scanned.malformed.append((self._scanned.lines + 1, why))

    def take(self, block: bytes, *, is_last: bool) -> None:
        """Check and scan whole lines; `is_last`: they are the last of the file, so the last line may be torn."""
        if len(self._scanned.malformed) >= MALFORMED_MAX:
            self._scanned.lines += block.count(b"\n")
            return
        lines = block.count(b"\n")
        events = _events(block)
        if self._is_of_process:
            self._scanned.foreign_events += sorted({event.event for event in events} & UNKNOWN_TO_PROCESSES)
        if len(events) == lines:
            self._take_events(events)
        else:  # a malformed or empty line, or a last line without a newline
            self._take_lines(block, is_last=is_last)
        self._scanned.lines += lines

    def _take_lines(self, block: bytes, *, is_last: bool) -> None:
        for number, line in enumerate(block.splitlines(keepends=True), start=1):
            content = line.strip()
            if not content:
                continue
            try:
                event = decode_event(content)
            except MalformedEvent as error:
                if is_last and not line.endswith(b"\n"):
                    self._scanned.torn += 1
                else:
                    self._scanned.malformed.append((self._scanned.lines + number, str(error)))
                continue
            if self._is_of_process and event.event in UNKNOWN_TO_PROCESSES:
                self._scanned.foreign_events.append(event.event)
            self._take_events([event], number)

    def _take_events(self, events: list[Event], number: int = 1) -> None:
        """`number`: the line of the first event within the block, from 1."""
        remarkable, keep = self._remarkable, self._kept.append
        latest_ns, trail_latest_ns = self._scanned.latest_ns, self._scanned.trail_latest_ns
        for line, event in enumerate(events, start=self._scanned.lines + number):
            task, actor, t_ns, name = event.task, event.actor, event.t_ns, event.event
            # Fast path for nearly every line; all other lines take the slow path.
            if name in _TASK_EVENTS and task is not None and t_ns >= latest_ns[actor]:
                latest_ns[actor] = t_ns
                if task in remarkable:
                    keep(event)
            elif name == "state" and task is not None and event.to and t_ns >= trail_latest_ns[actor]:
                trail_latest_ns[actor] = t_ns
                if task in remarkable:
                    keep(event)
            else:
                self._take_event(event, line)
        self._scanned.events += len(events)

    def _take_event(self, event: Event, line: int) -> None:
        try:
            event = checked(event)
        except MalformedEvent as error:
            self._scanned.malformed.append((line, str(error)))
            return
        if event.event in TRAIL:
            self._take_time_of_row(event, line)
        else:
            self._take_time(event, line)
        if event.event == "final":
            self._scanned.finals.append(line)
            lists = {name: self._remarkable_ones(getattr(event, name)) for name in FINAL_LISTS}
            self._kept.append(msgspec.structs.replace(event, **lists))
        elif (
            event.event in _GLOBAL_EVENTS
            or (event.resource if event.event in _RESOURCE_EVENTS else event.task) in self._remarkable
        ):
            self._kept.append(event)

    def _remarkable_ones(self, tasks: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if tasks is None else tuple(filter(self._remarkable.__contains__, tasks))

    def _take_time(self, event: Event, line: int) -> None:
        before_ns = self._scanned.latest_ns.get(event.actor)
        if before_ns is None:
            self._scanned.first_ns[event.actor] = event.t_ns
        elif event.t_ns < before_ns and self._is_sorted:
            self._scanned.malformed.append((line, went_back(event.actor, event.t_ns, before_ns)))
        self._scanned.latest_ns[event.actor] = event.t_ns

    def _take_time_of_row(self, event: Event, line: int) -> None:
        actor, t_ns = event.actor, event.t_ns
        if self._exact_trail:
            before_ns = self._trail_ns.get((actor, event.task))
            if self._is_sorted and before_ns is not None and t_ns < before_ns:
                self._scanned.malformed.append((line, went_back(actor, t_ns, before_ns)))
            self._trail_ns[actor, event.task] = t_ns
            self._scanned.trail_first_ns.setdefault(actor, t_ns)
            self._scanned.trail_latest_ns[actor] = max(t_ns, self._scanned.trail_latest_ns.get(actor, t_ns))
            return
        before_ns = self._scanned.trail_latest_ns.get(actor)
        if before_ns is None:
            self._scanned.trail_first_ns[actor] = t_ns
        elif t_ns < before_ns and self._is_sorted:
            self._scanned.trail_went_back = True
        self._scanned.trail_latest_ns[actor] = t_ns


def _events(block: bytes) -> list[Event]:
    """The events of these lines, or an empty list if a line is malformed. Empty lines are skipped."""
    for decode in (_decode_common, _decode_any):
        try:
            events: list[Event] = decode(block)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        return events
    return []


def _blocks(stream: BinaryIO, part: Part) -> Iterator[tuple[bytes, bool]]:
    """Yield whole lines, about BLOCK_BYTES at a time, and whether they are the last of the file."""
    stream.seek(part.begin)
    left = part.end - part.begin
    block = _lines_of(stream, left)
    while block:
        left -= len(block)
        following = _lines_of(stream, left)
        yield block, part.is_last and not following
        block = following


def _lines_of(stream: BinaryIO, left: int) -> bytes:
    block = stream.read(min(BLOCK_BYTES, left))
    if len(block) < left and not block.endswith(b"\n"):
        block += stream.readline(LINE_BYTES_MAX)
    return block


def scan_parts(job: ScanJob) -> list[Scanned]:
    """The results for all parts of a job, in order."""
    return [scan(part, job.remarkable, exact_trail=job.exact_trail, is_sorted=job.is_sorted) for part in job.parts]


def _main() -> None:
    """Read a job from standard input, write its results to standard output."""
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=ScanJob)
    sys.stdout.buffer.write(msgspec.msgpack.encode(scan_parts(job)))


if __name__ == "__main__":
    _main()

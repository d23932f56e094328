"""Reads histories from disk: our own or foreign, JSON lines or one document, also gzip. Reports malformed lines by file and number."""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from scenarios.errors import NothingToJudge
from scenarios.record.events import UNKNOWN_TO_PROCESSES, is_of_process
from scenarios.record.history import Event, History, Malformed, MalformedEvent, Recorded, decode_event

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LINE_BYTES_MAX = 512 * 2**20
"""Maximum length of one event; the account of 40 million tasks fits."""
DOCUMENT_BYTES_MAX = 2**30
"""Maximum size of a history in one document; a larger one must be JSON lines."""
LARGE_BYTES_MIN = 24 * 2**20
"""From this size on a history is prefiltered (scenarios/stored/large/prefilter.py); a smaller one is read whole."""
PACKED_BY = 10
"""Typical compression ratio of a history by gzip."""
MALFORMED_MAX = 100
"""After this many malformed lines the rest of a file is not read."""

UNPACKED_BY_MAX = 100
"""Maximum ratio of unpacked to packed size; histories reach 40, zero bytes 1,000."""
UNPACKED_BYTES_MIN = 64 * 2**20
"""Unpacked size that is always allowed, whatever the ratio."""
EMPTY_LINES_MAX = 100_000
"""Maximum number of empty lines in a row."""


class UnpacksTooLarge(Exception):
    """A packed file is far larger unpacked than any history: probably a decompression bomb."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"the packed file unpacks to more than {bytes_max:,} bytes: too large for a history")


DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, UnpacksTooLarge)
"""Raised when a packed file is truncated, damaged, or too large unpacked."""
NO_EVENT = "holds no event"
SECOND_FINAL = "a second final: a history has one account"

TRAIL = frozenset({"state", "dead", "redrive"})
"""Rows of an audit trail. Many processes write them under one actor name, so only the rows of one task are ordered."""

_GZIP_MAGIC = b"\x1f\x8b"


class Document(msgspec.Struct, frozen=True):
    """The one-document form of a history: events with, optionally, the claims and the policy to judge them by."""

    events: list[msgspec.Raw]
    claims: list[str] | None = None
    policy: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A history, with the claims and the policy that its file states; None if it states none."""

    recorded: Recorded
    claims: tuple[str, ...] | None = None
    policy: dict[str, object] | None = None


@dataclass(slots=True)
class Collector:
    """Collects events and malformed lines; detects an actor whose time goes back within a file."""

    events: list[Event] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)
    torn: int = 0
    is_sorted: bool = True
    _finals: int = 0
    _foreign_events: dict[str, set[str]] = field(default_factory=dict)
    _latest_ns: dict[object, int] = field(default_factory=dict)

    def begin_file(self) -> None:
        """Begin another file; order is checked within one file only."""
        self._latest_ns.clear()

    def take(self, file: str, line: int, content: bytes | msgspec.Raw, *, unfinished: bool = False) -> None:
        """Decode and collect one event. `unfinished`: the last line of a file, without a newline; its writer may have been killed."""
        try:
            event = decode_event(content)
        except MalformedEvent as error:
            if unfinished:
                self.torn += 1
            else:
                self.malformed.append(Malformed(file, line, str(error)))
            return
        writer = (event.actor, event.task) if event.event in TRAIL else event.actor
        before_ns = self._latest_ns.get(writer)
        if event.event in UNKNOWN_TO_PROCESSES and is_of_process(file):
            self._foreign_events.setdefault(file, set()).add(event.event)
        if self.is_sorted and before_ns is not None and event.t_ns < before_ns:
            self.malformed.append(Malformed(file, line, went_back(event.actor, event.t_ns, before_ns)))
        self._latest_ns[writer] = event.t_ns
        if event.event == "final":
            self._finals += 1
            if self._finals > 1:
                self.malformed.append(Malformed(file, line, SECOND_FINAL))
        self.events.append(event)

    def recorded(self, sources: Sequence[str]) -> Recorded:
        """The history of all collected events."""
        if not self.events and not self.malformed:
            self.malformed.append(Malformed(", ".join(sources) or "no file", 0, NO_EVENT))
        foreign = {file: frozenset(names) for file, names in self._foreign_events.items()}
        return Recorded(History(self.events), tuple(self.malformed), self.torn, tuple(sources), foreign)


def damaged(error: Exception) -> str:
    """Why the rest of a packed file cannot be read."""
    return str(error) if isinstance(error, UnpacksTooLarge) else f"the packed file is damaged: {error}"


def went_back(actor: str, t_ns: int, before_ns: int) -> str:
    """Why an event is malformed that is earlier than the previous event of its actor."""
    why = f"time goes back for actor {actor!r}: {t_ns} ns after {before_ns} ns"
    return f"{why} (`tasklab check --unsorted` reads a history that is not sorted)"


def read_files(files: Sequence[Path], *, is_sorted: bool = True) -> Recorded:
    """The events of JSON-lines files, merged by time. A torn last line (the writer was killed) is counted, not an error.

    `is_sorted`: the time of an actor must not go back within a file; a line where it does is malformed.
    """
    collector = Collector(is_sorted=is_sorted)
    for file in files:
        with open_history(file) as stream:
            _take_lines(collector, file.name, stream)
    return collector.recorded([file.name for file in files])


def read_foreign(file: Path, *, is_sorted: bool = True) -> Reading:
    """A history of any origin: JSON lines, or one document `{"policy": …, "claims": […], "events": […]}`."""
    document = _document_of(file)
    if document is None:
        return Reading(read_files([file], is_sorted=is_sorted))
    return reading_of(document, file.name, is_sorted=is_sorted)


def reading_of(document: Document, name: str, *, is_sorted: bool = True) -> Reading:
    """The history in a document; its events are numbered from 1."""
    collector = Collector(is_sorted=is_sorted)
    for number, raw in enumerate(document.events, start=1):
        if len(collector.malformed) < MALFORMED_MAX:
            collector.take(name, number, raw)
    claims = None if document.claims is None else tuple(document.claims)
    return Reading(collector.recorded([name]), claims, document.policy)


def read_document(file: Path) -> bytes:
    """The content of a file that must be read whole.

    Raises:
        NothingToJudge: it is larger than `DOCUMENT_BYTES_MAX`.
        OSError: it cannot be read.
    """
    if file.is_file() and file.stat().st_size > DOCUMENT_BYTES_MAX:
        raise NothingToJudge(f"{file} has more than {DOCUMENT_BYTES_MAX:,} bytes, the maximum for a document")
    return file.read_bytes()


def is_large(files: Sequence[Path]) -> bool:
    """Whether these files together are large enough to be prefiltered."""
    return sum(file.stat().st_size * (PACKED_BY if is_packed(file) else 1) for file in files) >= LARGE_BYTES_MIN


def is_lines(file: Path) -> bool:
    """Whether the first line of the file is an event."""
    try:
        with open_history(file) as stream:
            return _is_event(stream.readline(LINE_BYTES_MAX))
    except DAMAGED:
        return False


def is_packed(file: Path) -> bool:
    """Whether the content is gzip; the name does not matter."""
    with file.open("rb") as stream:
        return stream.read(2) == _GZIP_MAGIC


def open_history(file: Path) -> BinaryIO:
    """Open a file, packed or not, for its plain bytes. Reading a packed file raises one of `DAMAGED` if it cannot be unpacked."""
    if is_packed(file):
        bytes_max = max(UNPACKED_BYTES_MIN, UNPACKED_BY_MAX * file.stat().st_size)
        return io.BufferedReader(_Unpacked(file, bytes_max), 2**20)
    return file.open("rb")


def check_unpacked(files: Sequence[Path]) -> None:
    """Unpack the packed files and discard the content; raises one of `DAMAGED`. For readers that have no size limit themselves."""
    for file in filter(is_packed, files):
        with open_history(file) as stream:
            while stream.read(2**20):
                pass


class _Unpacked(io.RawIOBase):
    """The plain bytes of a packed file, at most `bytes_max`."""

    def __init__(self, file: Path, bytes_max: int) -> None:
        super().__init__()
        self._gzip = gzip.GzipFile(file, "rb")
        self._bytes_max = bytes_max

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._gzip.seek(offset, whence)

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer)
        content = self._gzip.read1(len(view))
        if self._gzip.tell() > self._bytes_max:
            raise UnpacksTooLarge(self._bytes_max)
        view[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._gzip.close()
        super().close()


def _document_of(file: Path) -> Document | None:
    """None if the file is not one document; it is then read line by line."""
    try:
        with open_history(file) as stream:
            first = stream.readline(DOCUMENT_BYTES_MAX)
            if _is_event(first):
                return None
            content = first + stream.read(DOCUMENT_BYTES_MAX - len(first))
        return msgspec.json.decode(content, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, *DAMAGED):
        return None


def _is_event(line: bytes) -> bool:
    try:
        decode_event(line)
    except MalformedEvent:
        return False
    return True


def _take_lines(collector: Collector, name: str, stream: BinaryIO) -> None:
    malformed_before = len(collector.malformed)
    collector.begin_file()
    line = 0
    try:
        for line, content, unfinished in _lines(stream):
            if len(content) > LINE_BYTES_MAX:
                collector.malformed.append(
                    Malformed(name, line, f"a line of more than {LINE_BYTES_MAX} bytes is not an event")
                )
            elif not content:
                collector.malformed.append(Malformed(name, line, f"more than {EMPTY_LINES_MAX:,} empty lines in a row"))
                return
            else:
                collector.take(name, line, content, unfinished=unfinished)
            if len(collector.malformed) - malformed_before >= MALFORMED_MAX:
                collector.malformed.append(
                    Malformed(name, line, "too many malformed lines; the rest of the file is not read")
                )
                return
    except DAMAGED as error:
        collector.malformed.append(Malformed(name, line + 1, damaged(error)))


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes, bool]]:
    """(line number from 1, content, whether it is a last line without a newline); empty lines are skipped.

    Too many empty lines in a row yield one line without content.
    """
    number = latest = 0
    while line := stream.readline(LINE_BYTES_MAX + 1):
        number += 1
        content = line.rstrip(b"\r\n")
        if len(line) > LINE_BYTES_MAX:
            _skip_line(stream)
            yield number, line, False
            latest = number
        elif content.strip():
            yield number, content, not line.endswith(b"\n")
            latest = number
        elif number - latest > EMPTY_LINES_MAX:
            yield number, b"", False


def _skip_line(stream: BinaryIO) -> None:
    while (rest := stream.readline(2**20)) and not rest.endswith(b"\n"):
        pass

"""Judging of large histories: summaries by DuckDB find the unremarkable tasks, a scan keeps the events of the others for the checkers.

Only the checkers find violations, so both ways have the same meaning. Correctness condition (checked by a differential test): a task
counted as unremarkable is never a witness, and adds to all figures the same as in a full pass.
"""

import mmap
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import BinaryIO, Literal

import msgspec

from scenarios.judging.policy import Policy
from scenarios.judging.unremarkable import Unremarkable
from scenarios.record.events import REQUIRED_FIELDS, Event
from scenarios.record.history import History, Malformed, Recorded
from scenarios.stored.large.scan import UNKNOWN_END, Part, ScanJob, Scanned, scan, scan_parts
from scenarios.stored.large.summaries import Summaries
from scenarios.stored.reading import (
    LINE_BYTES_MAX,
    NO_EVENT,
    SECOND_FINAL,
    check_unpacked,
    is_packed,
    open_history,
    went_back,
)

SEARCHED_BYTES = 16 * 2**20
SHARED_NAMES_MAX = 10_000
PART_BYTES_MIN = 8 * 2**20
"""Minimum size of a part for which starting another process pays."""


@dataclass(frozen=True, slots=True)
class Prefiltered:
    """A history reduced to the tasks that the checkers must see, and the counts of the others."""

    recorded: Recorded
    unremarkable: Unremarkable


def prefilter(
    files: Sequence[Path], policy: Policy, *, keep: Iterable[str] = (), parts_min: int = 1, is_sorted: bool = True
) -> Prefiltered:
    """Reduce the history in these JSON-lines files.

    `keep`: tasks to keep even if they are unremarkable. `parts_min`: minimum number of parts of each file.

    Raises:
        DAMAGED: a packed file cannot be unpacked, or is too large unpacked.
        duckdb.Error: DuckDB cannot read them; reading them whole reports the reason by file and line.
    """
    check_unpacked(files)  # DuckDB has no limit for the unpacked size
    with tempfile.TemporaryDirectory(prefix="tasklab-prefilter-") as scratch:
        account = Path(scratch) / "final.json"
        where = _copy_final(files, account)
        others = [_without_final(file, Path(scratch)) if file == where else file for file in files]
        with closing(Summaries(others, Path(scratch))) as summaries:
            lists_done = where is not None and summaries.list_final(account, account.stat().st_size)
            remarkable, unremarkable = summaries.separate(policy, keep=keep, lists_done=lists_done)
            last_end_ns, records_states = summaries.last_end_ns, summaries.records_states
    parts = [part for file in files for part in _parts(file, parts_min)]
    scanned = _scan_all(parts, remarkable, exact_trail=False, is_sorted=is_sorted)
    if is_sorted and (
        any(one.trail_went_back for one in scanned) or _goes_back(parts, scanned, "trail_first_ns", "trail_latest_ns")
    ):
        parts = [_whole(file) for file in files]
        scanned = _scan_all(parts, remarkable, exact_trail=True, is_sorted=True)
    recorded = _recorded(files, parts, scanned, is_sorted=is_sorted)
    last_ns = max((max(one.latest_ns.values(), default=0) for one in scanned), default=0)
    last_ns = max(last_ns, max((max(one.trail_latest_ns.values(), default=0) for one in scanned), default=0))
    recorded.history.count_in(last_end_ns=last_end_ns, records_states=records_states, last_ns=last_ns)
    return Prefiltered(recorded, unremarkable)


def _copy_final(files: Sequence[Path], into: Path) -> Path | None:
    """Copy the first `final` event into a file; its source file, or None. (A second one is malformed, and found later.)"""
    for search in (_final_at_the_end, _final_anywhere):
        for file in files:
            line = search(file)
            if line:
                into.write_bytes(line)
                return file
    return None


def _without_final(file: Path, scratch: Path) -> Path:
    """A copy without the account, whose length would make DuckDB allocate gigabytes for further lines of that length."""
    copy = scratch / "without-final.jsonl"
    with open_history(file) as stream, copy.open("wb") as copied:
        for block in _blocks(stream):
            lines = block.splitlines(keepends=True) if b'"final"' in block else [block]
            copied.writelines(line for line in lines if not _is_final(line))
    return copy


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    while block := stream.read(SEARCHED_BYTES):
        yield block + stream.readline(LINE_BYTES_MAX)


def _final_at_the_end(file: Path) -> bytes:
    """The last line, if it is a `final` event, as in most files. Empty for a packed file, which can only be read from its begin."""
    size = file.stat().st_size
    if size == 0 or is_packed(file):
        return b""
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        begin = content.rfind(b"\n", 0, size - 1) + 1
        line = content[begin:] if size - begin < LINE_BYTES_MAX else b""
    return line if _is_final(line) else b""


def _final_anywhere(file: Path) -> bytes:
    with open_history(file) as stream:
        for block in _blocks(stream):
            if b'"final"' in block:
                found = next(filter(_is_final, block.splitlines()), b"")
                if found:
                    return found
    return b""


def _is_final(line: bytes) -> bool:
    """Whether a line is the account, by the event name only; the scan checks the rest."""
    try:
        return b'"final"' in line and _decode_name(line).event == "final"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


class _Named(msgspec.Struct):
    event: str


_decode_name = msgspec.json.Decoder(_Named).decode


def _parts(file: Path, parts_min: int) -> Iterator[Part]:
    """Split the file at ends of lines, into parts for all cores."""
    size = file.stat().st_size
    if is_packed(file) or size == 0:
        yield _whole(file)
        return
    count = max(parts_min, min(size // PART_BYTES_MIN, 4 * (os.cpu_count() or 1)))
    begin = 0
    with file.open("rb") as stream:
        for number in range(1, count + 1):
            stream.seek(max(begin, size * number // count))
            if number < count:
                stream.readline()
            end = stream.tell() if number < count else size
            if end > begin:
                yield Part(str(file), begin, end, is_last=end >= size)
            begin = end


def _whole(file: Path) -> Part:
    return Part(str(file), 0, UNKNOWN_END if is_packed(file) else file.stat().st_size, is_last=True)


def _scan_all(
    parts: Sequence[Part], remarkable: frozenset[str], *, exact_trail: bool, is_sorted: bool
) -> list[Scanned]:
    """Scan all parts, in several processes if the size is worth it; results in the order of the parts."""
    count = min(len(parts), os.cpu_count() or 1)
    if sum(part.end - part.begin for part in parts) < 2 * PART_BYTES_MIN:
        count = 1
    jobs = [ScanJob(list(parts[number::count]), remarkable, exact_trail, is_sorted) for number in range(count)]
    answers = [scan_parts(jobs[0])] if count == 1 else _by_processes(jobs)
    return [answers[number % count][number // count] for number in range(len(parts))]


def _by_processes(jobs: Sequence[ScanJob]) -> list[list[Scanned]]:
    # Not multiprocessing: it would run the caller's main module again in each process.
    argv = [sys.executable, "-P", "-m", scan.__module__]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen(argv, stdin=PIPE, stdout=PIPE, env=environment)) for _ in jobs
        ]
        for process, job in zip(processes, jobs, strict=True):
            assert process.stdin is not None
            process.stdin.write(msgspec.msgpack.encode(job))
            process.stdin.close()
        return [_answer(process) for process in processes]


def _answer(process: subprocess.Popen[bytes]) -> list[Scanned]:
    assert process.stdout is not None
    content = process.stdout.read()
    if process.wait() != 0:
        raise ScanFailed(process.returncode)
    return msgspec.msgpack.decode(content, type=list[Scanned])


class ScanFailed(Exception):
    """A process that scanned a part of the history died, most likely because the machine ran out of memory."""

    def __init__(self, returncode: int) -> None:
        super().__init__(
            f"a process that read a part of the history ended with exit code {returncode}; is there enough memory?"
        )


def _recorded(files: Sequence[Path], parts: Sequence[Part], scanned: Sequence[Scanned], *, is_sorted: bool) -> Recorded:
    malformed: list[Malformed] = []
    finals: list[tuple[str, int]] = []
    lines_before: Counter[str] = Counter()
    for part, one in zip(parts, scanned, strict=True):
        before = lines_before[part.file]
        malformed.extend(Malformed(Path(part.file).name, before + line, why) for line, why in one.malformed)
        finals.extend((Path(part.file).name, before + line) for line in one.finals)
        lines_before[part.file] += one.lines
    if is_sorted:
        malformed.extend(_goes_back(parts, scanned, "first_ns", "latest_ns"))
    malformed.extend(Malformed(name, line, SECOND_FINAL) for name, line in finals[1:])
    if not malformed and not any(one.events for one in scanned):
        malformed.append(Malformed(", ".join(file.name for file in files), 0, NO_EVENT))
    events = _kept_events(scanned)
    names = tuple(file.name for file in files)
    foreign: dict[str, frozenset[str]] = {}
    for part, one in zip(parts, scanned, strict=True):
        if one.foreign_events:
            name = Path(part.file).name
            foreign[name] = foreign.get(name, frozenset()) | frozenset(one.foreign_events)
    return Recorded(History(events), tuple(malformed), sum(one.torn for one in scanned), names, foreign)


def _kept_events(scanned: Sequence[Scanned]) -> list[Event]:
    """The kept events; actor and event names are shared strings, which saves a quarter of the memory."""
    actors = {actor for one in scanned for actor in (*one.first_ns, *one.trail_first_ns)}
    kept: type[msgspec.Struct] = Event
    if 0 < len(actors) <= SHARED_NAMES_MAX:
        names = [("actor", Literal[tuple(sorted(actors))]), ("event", Literal[tuple(REQUIRED_FIELDS)])]
        kept = msgspec.defstruct("Kept", names, bases=(Event,), frozen=True, kw_only=True, gc=False)
    decode = msgspec.msgpack.Decoder(list[kept]).decode  # type: ignore[valid-type]  # made at run time
    events: list[Event] = []
    for one in scanned:
        events.extend(decode(one.kept))
        one.kept = b""
    return events


def _goes_back(parts: Sequence[Part], scanned: Sequence[Scanned], first: str, latest: str) -> list[Malformed]:
    """The places where an actor's time goes back from one part of a file to a later part."""
    found = []
    latest_ns: dict[tuple[str, str], int] = {}
    for part, one in zip(parts, scanned, strict=True):
        for actor, t_ns in getattr(one, first).items():
            before_ns = latest_ns.get((part.file, actor), t_ns)
            if t_ns < before_ns:
                found.append(Malformed(Path(part.file).name, 0, went_back(actor, t_ns, before_ns)))
        latest_ns.update({(part.file, actor): t_ns for actor, t_ns in getattr(one, latest).items()})
    return found

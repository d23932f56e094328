"""How attempts have ended so far, as the workers of a run record it: for systems that list nothing."""

import threading
from collections import Counter
from pathlib import Path

import msgspec

from scenarios.real.remote_probe import SOURCE
from scenarios.record.events import is_of_process
from scenarios.stored.rundir import RunDirectory

OF_REMOTE_WORKERS = f"history.{SOURCE}.jsonl"
ENDS = (b'"attempt.ok"', b'"attempt.fail"')
LINE_BYTES_MAX = 1 << 20
"""A longer line is no event; what follows it in its file is not read. That the record is malformed, the checkers say."""


class _End(msgspec.Struct, frozen=True):
    """The fields of an event that count here."""

    event: str
    task: str


_decode = msgspec.json.Decoder(_End).decode


class EndedAttempts:
    """Reads on, at each call, in the history files of the workers. Thread-safe.

    `attempts_max`: so many failed attempts end a task; None: no number does.
    """

    def __init__(self, directory: RunDirectory, attempts_max: int | None) -> None:
        self._directory = directory
        self._attempts_max = attempts_max
        self._read: Counter[Path] = Counter()
        self._succeeded: set[str] = set()
        self._failed: Counter[str] = Counter()
        self._lock = threading.Lock()

    def read(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tasks with an attempt that succeeded; and those whose attempts have all failed, as many as there may be."""
        with self._lock:
            for file in self._directory.history_files():
                if is_of_process(file.name) or file.name == OF_REMOTE_WORKERS:
                    self._read_on(file)
            limit = self._attempts_max
            dead = {task for task, times in self._failed.items() if limit is not None and times >= limit}
            return tuple(sorted(self._succeeded)), tuple(sorted(dead - self._succeeded))

    def _read_on(self, file: Path) -> None:
        with file.open("rb") as lines:
            lines.seek(self._read[file])
            while (line := lines.readline(LINE_BYTES_MAX)).endswith(b"\n"):
                self._read[file] += len(line)
                if any(end in line for end in ENDS):
                    self._note(line)

    def _note(self, line: bytes) -> None:
        try:
            end = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return  # a malformed line, which the checkers name
        if end.event == "attempt.ok":
            self._succeeded.add(end.task)
        elif end.event == "attempt.fail":
            self._failed[end.task] += 1

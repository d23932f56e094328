"""How attempts have ended so far, as the workers of a run record it: for systems that list nothing."""

import threading
from collections import Counter
from pathlib import Path

import msgspec

from scenarios.judging.policy import Policy
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
    error: str | None = None


_decode = msgspec.json.Decoder(_End).decode


class EndedAttempts:
    """Reads on, at each call, in the history files of the workers. Thread-safe.

    `policy`: how many failed attempts, and which errors, end a task.
    """

    def __init__(self, directory: RunDirectory, policy: Policy) -> None:
        self._directory = directory
        self._policy = policy
        self._read: Counter[Path] = Counter()
        self._succeeded: set[str] = set()
        self._failed: Counter[str] = Counter()
        self._given_up: set[str] = set()
        self._lock = threading.Lock()

    def read(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tasks with an attempt that succeeded; and those that failed for good, or as often as they may."""
        with self._lock:
            for file in self._directory.history_files():
                if is_of_process(file.name) or file.name == OF_REMOTE_WORKERS:
                    self._read_on(file)
            limit = self._policy.attempts_max
            dead = self._given_up | {
                task for task, times in self._failed.items() if limit is not None and times >= limit
            }
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
            if self._policy.is_permanent(end.error):
                self._given_up.add(end.task)

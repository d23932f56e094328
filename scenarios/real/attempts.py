"""How attempts have ended so far, as the workers of a run record it: for systems that list nothing."""

import json
import threading
from collections import Counter
from pathlib import Path

ENDS = (b'"attempt.ok"', b'"attempt.fail"')


class EndedAttempts:
    """Reads on, at each call, in the history files of the workers. Thread-safe.

    `attempts_max`: so many failed attempts end a task; None: no number does.
    """

    def __init__(self, directory: Path, attempts_max: int | None) -> None:
        self._directory = directory
        self._attempts_max = attempts_max
        self._read: Counter[Path] = Counter()
        self._succeeded: set[str] = set()
        self._failed: Counter[str] = Counter()
        self._lock = threading.Lock()

    def read(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tasks with an attempt that succeeded; and those whose attempts have all failed, as many as there may be."""
        with self._lock:
            for file in self._directory.glob("history.*.*.jsonl"):
                self._read_on(file)
            limit = self._attempts_max
            dead = {task for task, times in self._failed.items() if limit is not None and times >= limit}
            return tuple(sorted(self._succeeded)), tuple(sorted(dead - self._succeeded))

    def _read_on(self, file: Path) -> None:
        with file.open("rb") as lines:
            lines.seek(self._read[file])
            for line in lines:
                if not line.endswith(b"\n"):
                    return
                self._read[file] += len(line)
                if any(end in line for end in ENDS):
                    self._note(json.loads(line))

    def _note(self, event: dict[str, str]) -> None:
        if event["event"] == "attempt.ok":
            self._succeeded.add(event["task"])
        elif event["event"] == "attempt.fail":
            self._failed[event["task"]] += 1

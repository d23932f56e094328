"""What the embedded process runs in these tests: each attempt leaves a line, and may wait until the test lets it go."""

import os
import threading
from collections.abc import Mapping
from pathlib import Path

from reference_impl.attempt import Attempt

LOOK_S = 0.01


def handle(attempt: Attempt) -> Mapping[str, object]:
    """Payload: `log`, a file that gets the lines; `gate`, optional, a file for which the attempt waits before it ends."""
    payload = attempt.task.payload
    _append(str(payload["log"]), f"start {attempt.task.id} {attempt.number}")
    gate = payload.get("gate")
    while gate is not None and not Path(str(gate)).exists():
        threading.Event().wait(LOOK_S)
    _append(str(payload["log"]), f"end {attempt.task.id} {attempt.number}")
    return {"attempt": attempt.number}


def _append(path: str, line: str) -> None:
    """In one write, so that lines of many threads and a kill -9 leave whole lines."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)

"""The files through which the load generator and the lab exchange data: the history of submissions, and the progress of the load."""

from pathlib import Path

import msgspec

from scenarios.record.run_facts import Live
from scenarios.stored.rundir import LIVE_FILE, write_whole

HISTORY_NAME = "load"
HISTORY_FILE = f"history.{HISTORY_NAME}.jsonl"
MARKS_FILE = "load.json"


class Marks(msgspec.Struct, frozen=True):
    """When the load began and ended, since the run began. It ends when its last submission is answered or given up; None: not yet."""

    began_ns: int
    over_ns: int | None = None


class SubmissionLine(msgspec.Struct, frozen=True):
    """The fields of a line of the generator's history that the lab reads. `planned_ns`: the due time of the submission."""

    event: str
    t_ns: int
    task: str = ""
    planned_ns: int = 0
    id: str | None = None
    detail: str | None = None


decode_line = msgspec.json.Decoder(SubmissionLine).decode


def write_marks(directory: Path, marks: Marks) -> None:
    """Replace load.json, whole or not at all."""
    write_whole(directory / MARKS_FILE, msgspec.json.encode(marks))


def read_marks(directory: Path) -> Marks | None:
    """The progress of the load; None: it has not begun."""
    try:
        return msgspec.json.decode((directory / MARKS_FILE).read_bytes(), type=Marks)
    except FileNotFoundError:
        return None


def read_live(directory: Path) -> Live | None:
    """The lab's current figures; None: the lab has not written any."""
    try:
        return msgspec.json.decode((directory / LIVE_FILE).read_bytes(), type=Live)
    except FileNotFoundError:
        return None

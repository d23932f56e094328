"""The two files by which the load generator and the lab know of each other: the history of submissions, and how far the load is."""

from pathlib import Path

import msgspec

from scenarios.record.run_facts import Live
from scenarios.stored.rundir import LIVE_FILE, write_whole

HISTORY_NAME = "load"
HISTORY_FILE = f"history.{HISTORY_NAME}.jsonl"
MARKS_FILE = "load.json"


class Marks(msgspec.Struct, frozen=True):
    """When the load began, and when its last submission was answered or given up, since the run began; None: not yet."""

    began_ns: int
    over_ns: int | None = None


class Line(msgspec.Struct, frozen=True):
    """What the lab reads of a line of the generator's history. `planned_ns`: when the submission was due."""

    event: str
    t_ns: int
    task: str = ""
    planned_ns: int = 0
    id: str | None = None
    detail: str | None = None


decode_line = msgspec.json.Decoder(Line).decode


def write_marks(directory: Path, marks: Marks) -> None:
    """Replace load.json, whole or not at all."""
    write_whole(directory / MARKS_FILE, msgspec.json.encode(marks))


def read_marks(directory: Path) -> Marks | None:
    """How far the load is; None before it has begun."""
    try:
        return msgspec.json.decode((directory / MARKS_FILE).read_bytes(), type=Marks)
    except FileNotFoundError:
        return None


def read_live(directory: Path) -> Live | None:
    """The lab's figures so far; None where no lab has written any."""
    try:
        return msgspec.json.decode((directory / LIVE_FILE).read_bytes(), type=Live)
    except FileNotFoundError:
        return None

"""Directories for results: created, and checked to be writable, before any work begins."""

import errno
import os
from datetime import datetime
from itertools import count
from pathlib import Path

from scenarios.errors import WrongUsage

RUNS = Path("runs")
NAME_BYTES_MAX = 200
"""Maximum length of the name of a run directory; file systems take 255."""


class NotWritable(WrongUsage):
    """The place for results cannot be written."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"results cannot be written to {path}: {why}; name another place with --out")


def place_for_runs(out: Path | None) -> Path:
    """`out`, or a new directory `runs/DATE-TIME` for this call.

    Raises:
        NotWritable: it cannot be written.
    """
    try:
        place = _new_place() if out is None else out
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritable(out or RUNS, str(error.strerror).lower()) from error
    if not os.access(place, os.W_OK | os.X_OK):
        raise NotWritable(place, "permission denied")
    return place


def _new_place() -> Path:
    """A directory named after this second, with a number if it already exists."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    for number in count(1):
        place = RUNS / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            place.mkdir(parents=True)
        except FileExistsError:
            if RUNS.is_dir():
                continue
            raise
        return place
    raise AssertionError("there is always a next number")


def directory_of_run(place: Path, scenario: str, system: str, seed: int) -> Path:
    """The directory of a run below `place`. The names may come from a token or a plug-in.

    Raises:
        WrongUsage: a name would lead out of `place`.
    """
    name = f"{scenario}-{system}-{seed}"
    if "/" in name or not name.isprintable() or not _fits(name):
        why = f"the names of a scenario and a system have no '/' and no control characters, and at most {NAME_BYTES_MAX} bytes"
        raise WrongUsage(f"{name[:80]!r} is not a valid name of a run directory: {why}")
    return place / name


def _fits(name: str) -> bool:
    try:
        return len(name.encode()) <= NAME_BYTES_MAX
    except UnicodeEncodeError:  # an unpaired surrogate
        return False


def file_for_rows(out: Path) -> Path:
    """`out`, after a check that it can be appended to.

    Raises:
        NotWritable: it cannot.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("ab"):
            return out
    except OSError as error:
        raise NotWritable(out, str(error.strerror).lower()) from error


def append_line(file: Path, line: bytes) -> None:
    """Append one line, whole or not at all; raises OSError if the disk is full."""
    with file.open("ab", buffering=0) as stream:
        before = stream.tell()
        if stream.write(line + b"\n") <= len(line):
            stream.truncate(before)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))

"""The lab's check of itself: what an environment has left behind on this machine."""

import os
from pathlib import Path

from chaos.hosting.warden import LAB_MARK, carries_mark, descendants, read_processes


def find_leftovers(directory: Path) -> list[str]:
    """What is left of the environment that had this directory, in words: processes (its warden too) and files; [] if nothing is."""
    processes = read_processes()
    mark = f"{LAB_MARK}={directory}".encode()
    wardens = [pid for pid in processes if str(directory) in _arguments(pid)]
    below = {pid for warden in wardens for pid in descendants(warden, processes)}
    marked = {pid for pid in processes if carries_mark(pid, mark)}
    found = [f"process {pid}: {' '.join(_arguments(pid))}" for pid in sorted({*wardens, *below, *marked})]
    # os.walk, for it passes over what is removed while it looks.
    files = [
        Path(parent) / name for parent, directories, names in os.walk(directory) for name in (*directories, *names)
    ]
    return found + [f"file {path}" for path in sorted([directory, *files]) if directory.exists()]


def _arguments(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return []

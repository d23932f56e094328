"""The office's leader: `python -m office.leader FILE NAME DEFECT`. Two run, one of them holds the lock."""

import sys
import time
from pathlib import Path
from typing import Any

# The lab puts it on this process's path, and on no other's: a type checker does not find it.
import tasklab_probe  # type: ignore[import-not-found]

from office.defects import leadership_class, store_class
from office.leadership import Leadership
from office.store import LOCK_S

LOOK_S = 0.1


def lead(leadership: Leadership, name: str) -> None:
    """Sweep while the lock is held, until the process is stopped."""
    held: Any = None  # the lease as the history knows it
    fence = -1
    while True:
        asked_ns = tasklab_probe.now_ns()
        found = leadership.acquire(name)
        if found is None:
            held = None  # it ran out: nothing is given back
        elif held is None or found != fence:
            held = tasklab_probe.lease("lock:office", fence=found, ttl_s=LOCK_S, asked_ns=asked_ns)
            held.acquired()
        else:
            held.renewed(asked_ns=asked_ns)
        if found is not None:
            fence = found
            tasklab_probe.probe().outside.arrive("leader", "office")
            tasklab_probe.probe().outside.write("office", fence=fence)
            leadership.sweep(fence)
        time.sleep(LOOK_S)  # SQLite cannot notify; leases expire by time


def main(path: Path, name: str, defect: str) -> None:
    """Lead with the defect of this name, or with none."""
    lead(leadership_class(defect)(store_class(defect)(path)), name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])

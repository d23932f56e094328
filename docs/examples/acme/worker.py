"""Acme's worker: `python -m acme.worker FILE`. Its handler is the lab's; the rest is that of any worker."""

import sys
import time
from pathlib import Path

# The lab puts it only on the path of this process: a type checker does not find it.
import tasklab_probe  # type: ignore[import-not-found]

from acme.queue import Queue, Task

TRIES_MAX = 3
LOOK_S = 0.02


def work(queue: Queue, task: Task) -> None:
    """One attempt; then the task ends, or returns to the queue."""
    try:
        tasklab_probe.run_task(task.payload, attempt=task.tries, key=str(task.id))
    except tasklab_probe.TaskError as error:  # planned: scenarios contain tasks that fail on purpose
        if error.kind == "permanent" or task.tries >= TRIES_MAX:
            queue.end(task, "dead")
        else:
            queue.put_back(task)
    else:
        queue.end(task, "done")


def main(file: Path) -> None:
    """Work until the process is stopped."""
    queue = Queue(file)
    while True:
        task = queue.take()
        if task is None:
            time.sleep(LOOK_S)  # SQLite cannot notify
        else:
            work(queue, task)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

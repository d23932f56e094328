"""The worker of the small systems (small_systems.py): `python -m tests.negative.small_worker FILE NAME WAY`."""

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

# The lab puts it only on the path of this process: a type checker does not find it.
import tasklab_probe  # type: ignore[import-not-found]

from tests.negative.small_store import EVERY, LEASE_S, TRIES_MAX, opened

LOOK_S = 0.01
TAKE = """
UPDATE tasks SET state = ?, tries = tries + 1, owner = ?, since = ? WHERE id = (
    SELECT min(id) FROM tasks WHERE state = 'ACCEPTED' OR (state = 'RUNNING' AND (since < ? OR owner = ?))
) RETURNING id, name, payload, tries
"""


class Worker:
    """Runs one task after the other; when it is started again, it first puts back what it had in hand."""

    taken = "RUNNING"
    lease_s = 1e9

    def __init__(self, file: Path, name: str) -> None:
        self.file = file
        self.name = name
        self.tasks = opened(file)

    def work(self) -> None:
        """Until the process is stopped."""
        tasklab_probe.probe().outside  # noqa: B018  connected before a lease begins
        self.recover()
        while True:
            row = self.tasks.execute(TAKE, self.wanted()).fetchone()
            if row is None:
                time.sleep(LOOK_S)
            else:
                self.attempt(*row)

    def wanted(self) -> tuple[Any, ...]:
        """The values of TAKE: the state of a task in hand, who has it since when; and whose tasks may be taken over."""
        now = time.time()
        return self.taken, self.name, now, now - self.lease_s, ""

    def recover(self) -> None:
        """What this worker had in hand when it died."""
        self.tasks.execute("UPDATE tasks SET state = 'ACCEPTED' WHERE state = 'RUNNING' AND owner = ?", (self.name,))

    def attempt(self, id_: int, name: str, payload: str, tries: int) -> None:
        """One attempt, and what becomes of the task."""
        try:
            self.handle(id_, name, json.loads(payload), tries)
        except tasklab_probe.TaskError as error:
            is_over = error.kind == "permanent" or tries >= TRIES_MAX
            self.settle(id_, "DEAD" if is_over else "ACCEPTED", tries)
        else:
            self.settle(id_, "SUCCEEDED", tries)

    def handle(self, id_: int, name: str, payload: dict[str, Any], tries: int) -> None:
        """The handler is the lab's."""
        handed_back = tasklab_probe.run_task(payload, attempt=tries, key=str(id_))
        for child in handed_back.get("children", ()):
            self.make(child, name)

    def make(self, payload: dict[str, Any], parent: str) -> None:
        """A task of the system's own."""
        sql = "INSERT INTO tasks (name, payload, state) VALUES (?, ?, 'ACCEPTED')"
        self.tasks.execute(sql, (payload["task"], json.dumps(payload)))
        tasklab_probe.spawned(payload["task"], parent=parent)

    def settle(self, id_: int, state: str, tries: int) -> None:
        """Unless another worker has taken the task over."""
        sql = "UPDATE tasks SET state = ? WHERE id = ? AND tries = ? AND state = 'RUNNING'"
        self.tasks.execute(sql, (state, id_, tries))


class MarksDoneAtTake(Worker):
    """A task is done when it is taken."""

    taken = "SUCCEEDED"


class BuriesAtOnce(Worker):
    """A task that was in hand when its worker died is dead."""

    def recover(self) -> None:
        self.tasks.execute("UPDATE tasks SET state = 'DEAD' WHERE state = 'RUNNING' AND owner = ?", (self.name,))


class Forges(Worker):
    """Records one event more in its own file that only another source can know."""

    event = "effect"

    def handle(self, id_: int, name: str, payload: dict[str, Any], tries: int) -> None:
        if id_ % EVERY == 0:
            fields = {"fault": "service_killed", "target": "rabbitmq"} if self.event.startswith("fault") else {}
            tasklab_probe.probe().record(self.event, task=name, **fields)
        Worker.handle(self, id_, name, payload, tries)


class ForgesCancels(Forges):
    """A client is said to have withdrawn it."""

    event = "cancel.ok"


class ForgesSubmissions(Forges):
    """A client is said to have submitted it."""

    event = "submit.ok"


class ForgesFaults(Forges):
    """The broker is said to have died."""

    event = "fault.begin"


class ActsBeyond(Worker):
    """Has one effect more than was asked for."""

    def handle(self, id_: int, name: str, payload: dict[str, Any], tries: int) -> None:
        more = id_ % EVERY == 0
        Worker.handle(self, id_, name, {**payload, "steps": payload.get("steps", 1) + more}, tries)


class ActsBefore(Worker):
    """Has an effect of a step 0."""

    def handle(self, id_: int, name: str, payload: dict[str, Any], tries: int) -> None:
        if id_ % EVERY == 0:
            tasklab_probe.probe().outside.effect(name, step=0, attempt=tries, key=f"{id_}:0")
        Worker.handle(self, id_, name, payload, tries)


class ForgetsChildren(Worker):
    """Of the tasks that others demand it makes all but every third one."""

    made = 0

    def make(self, payload: dict[str, Any], parent: str) -> None:
        self.made += 1
        if self.made % 3:
            Worker.make(self, payload, parent)


class TakesOverSilently(Worker):
    """Honest: takes over what another worker has had for longer than a lease, which it does not record."""

    lease_s = LEASE_S


class TakesOverAtOnce(Worker):
    """Honest: learns of the death of the other worker from the system, sooner than the lab can see it."""

    def work(self) -> None:
        self.held = os.open(f"{self.file}.{self.name}", os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.held, fcntl.LOCK_EX)
        Worker.work(self)

    def wanted(self) -> tuple[Any, ...]:
        others = self.file.parent.glob(f"{self.file.name}.worker-*")
        dead = [other.name.rpartition(".")[2] for other in others if self.is_dead(other)]
        return (*Worker.wanted(self)[:-1], *(dead or [""])[:1])

    def is_dead(self, other: Path) -> bool:
        """Whether no worker holds the lock of this worker's name."""
        if other.name.endswith(self.name):
            return False
        with other.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True


class RecoversSlowly(Worker):
    """Honest: rests before it puts back what it had in hand, and only then goes on."""

    def recover(self) -> None:
        sql = "SELECT 1 FROM tasks WHERE state = 'RUNNING' AND owner = ?"
        if self.tasks.execute(sql, (self.name,)).fetchone():
            time.sleep(2.5)
        Worker.recover(self)


class EndsByItself(Worker):
    """Honest, but its process ends, with exit code 0, after some of its tasks."""

    def settle(self, id_: int, state: str, tries: int) -> None:
        Worker.settle(self, id_, state, tries)
        if id_ % EVERY == 0:
            print("unrecoverable error: the pool is gone", flush=True)
            sys.exit(0)


class GivesBack(Worker):
    """Honest: ends at once when it is told to, and gives back what it has in hand."""

    def work(self) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            Worker.work(self)
        except SystemExit:
            self.leave()
            raise

    def leave(self) -> None:
        """What becomes of the task in hand."""
        Worker.recover(self)


class DropsWhenStopped(GivesBack):
    """Ends at once when it is told to, and forgets what it has in hand, as a consumer that acknowledges when it ends does."""

    def leave(self) -> None:
        self.tasks.execute("UPDATE tasks SET state = 'LOST' WHERE state = 'RUNNING' AND owner = ?", (self.name,))


class GivesBackTooMuch(GivesBack):
    """Ends at once when it is told to, and gives back, beside what it has in hand, the last task that it has finished."""

    def leave(self) -> None:
        last = "SELECT max(id) FROM tasks WHERE state = 'SUCCEEDED' AND owner = ?"
        self.tasks.execute(f"UPDATE tasks SET state = 'ACCEPTED' WHERE id = ({last})", (self.name,))
        GivesBack.leave(self)


WAYS: dict[str, type[Worker]] = {
    kind.__name__: kind
    for kind in (
        *(Worker, MarksDoneAtTake, BuriesAtOnce, Forges, ForgesCancels, ForgesSubmissions, ForgesFaults),
        *(
            ForgetsChildren,
            ActsBeyond,
            ActsBefore,
            TakesOverSilently,
            TakesOverAtOnce,
            RecoversSlowly,
            EndsByItself,
            GivesBack,
            DropsWhenStopped,
            GivesBackTooMuch,
        ),
    )
}


if __name__ == "__main__":
    WAYS[sys.argv[3]](Path(sys.argv[1]), sys.argv[2]).work()

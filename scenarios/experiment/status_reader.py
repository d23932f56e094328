"""Reads statuses as a polling user does: of recent tasks and those in the hands of a struck process during the storm, of all at the end."""

import math
from collections.abc import Callable, Collection, Sequence

from scenarios.contract.system import Client, ReadStatus
from scenarios.contract.tasklab_probe import digest
from scenarios.experiment.stage import Flow, Stage
from scenarios.experiment.submissions import Submissions
from scenarios.record.events import FINAL_STATES

RECENT = 10
"""Number of latest submissions that are read in turn: their tasks are still changing."""
LAST_READS_MAX = 500
"""Of more tasks than this, the last reading takes an even sample: judging an answer costs as much as reading it."""
READER = "reader"
LOOK_S = 0.5
"""Between two readings of a task that has ended, and is not read as ended."""


_BURIED = FINAL_STATES - {"SUCCEEDED"}


class StatusReader:
    """A client of the system in a flow of its own; the answers are in the history.

    `struck`: the tasks that processes had in hand when a fault struck them, while it is on. `buried`: the tasks that were last read as
    ended otherwise than done.
    """

    def __init__(
        self, stage: Stage, submissions: Submissions, *, every_s: float, struck: Callable[[], Collection[str]] = tuple
    ) -> None:
        self._stage = stage
        self._submissions = submissions
        self._records = stage.records("client")
        self._every_s = every_s
        self._struck = struck
        self._is_over = False
        self._over = stage.signal()
        self._flow: Flow | None = None
        self._followed: Callable[[], Sequence[str]] = tuple
        self.buried: set[str] = set()

    def start(self) -> None:
        """Start polling every `every_s` seconds; 0: never."""
        if self._every_s > 0:
            self._flow = self._stage.spawn(READER, self._poll)

    def stop(self) -> None:
        """Stop polling. May be called before `start`."""
        self._is_over = True
        self._over.notify()
        if self._flow is not None:
            self._flow.join()

    def follow(self, tasks: Callable[[], Sequence[str]]) -> None:
        """From now on, each time read one of these tasks as well, in turn: how they end only their status can tell."""
        self._followed = tasks

    def read_last(self, timeout_s: float) -> list[str]:
        """Read the final status, which is judged too, of every answered task once, or of an even sample, as far as time allows.

        Returns the tasks that were not read as ended.
        """
        unread: list[str] = []
        deadline_ns = self._stage.now_ns() + round(timeout_s * 1e9)
        answered = sorted(self._submissions.ids.items())
        step = -(-len(answered) // LAST_READS_MAX) or 1
        client = self._stage.client(READER)
        try:
            for task, id_ in answered[::step]:
                if self._stage.now_ns() > deadline_ns:
                    break
                if self._read(client, task, id_) not in FINAL_STATES:
                    unread.append(task)
        finally:
            client.close()
        return unread

    def read_until_ended(self, tasks: Collection[str], within_s: float) -> None:
        """Read these tasks until each of them is read as ended, or for longer than `within_s`: what is not by then is reported too late."""
        ids, left = self._submissions.ids, list(tasks)
        client, nothing_comes = self._stage.client(READER), self._stage.signal()
        try:
            for _ in range(math.floor(within_s / LOOK_S) + 1):
                if not left:
                    break
                nothing_comes.wait_until(lambda: False, LOOK_S)
                left = [task for task in left if self._read(client, task, ids[task]) not in FINAL_STATES]
        finally:
            client.close()

    def _poll(self) -> None:
        client = self._stage.client(READER)
        number = 0
        try:
            while not self._over.wait_until(lambda: self._is_over, self._every_s):
                followed = self._followed()
                ids = self._submissions.ids
                recent = list(ids)[-RECENT:]
                if recent:
                    number += 1
                    self._read(client, recent[number % len(recent)], ids[recent[number % len(recent)]])
                if followed:
                    self._read(client, followed[number % len(followed)], ids[followed[number % len(followed)]])
                for task in self._struck():
                    if task in ids:
                        self._read(client, task, ids[task])
        finally:
            client.close()

    def _read(self, client: Client, task: str, id_: str) -> str | None:
        """The state that was read, if one was."""
        asked_ns = self._stage.now_ns()
        outcome = client.invoke(ReadStatus(task, id_))
        if outcome.kind == "ok" and outcome.state is not None:
            (self.buried.add if outcome.state in _BURIED else self.buried.discard)(task)
            result = None if outcome.result is None else digest(outcome.result)
            self._records.record(
                "status",
                actor=READER,
                task=task,
                state=outcome.state,
                percent=outcome.percent,
                result=result,
                asked_ns=asked_ns,
            )
        return outcome.state if outcome.kind == "ok" else None

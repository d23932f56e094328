"""Reads the status of tasks as a user does who polls: during the storm those on the move, at the end one last time."""

import threading
import time
from collections.abc import Callable

from chaos.errors import ChaosError
from scenarios.contract.system import Client, ReadStatus
from scenarios.contract.tasklab_probe import Recorder
from scenarios.errors import RunFailed
from scenarios.experiment.submissions import Submissions

STATUS_EVERY_S = 0.1
RECENT = 10
"""The latest submissions are looked at in turn: those are the ones on the move."""
LAST_READS_MAX = 500
"""Of more tasks than this, the last look takes an even sample: judging one answer costs as much as asking for it."""


class StatusReader:
    """A client of the system in a thread of its own; what it was answered is in the history."""

    def __init__(self, make_client: Callable[[], Client], submissions: Submissions, recorder: Recorder) -> None:
        self._make_client = make_client
        self._submissions = submissions
        self._recorder = recorder
        self._over = threading.Event()
        self.problems: list[str] = []
        self._thread = threading.Thread(target=self._poll, name="reader", daemon=True)

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self) -> None:
        """Poll no more. Safe to call when it never started."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def read_last(self, deadline_s: float) -> None:
        """Read the status of every answered task once, or of an even sample of them, as far as time (of the monotonic clock) allows.

        The final word is judged too.
        """
        answered = sorted(self._submissions.ids.items())
        step = -(-len(answered) // LAST_READS_MAX) or 1
        client = self._make_client()
        try:
            for task, id_ in answered[::step]:
                if time.monotonic() > deadline_s:
                    return
                self._read(client, task, id_)
        finally:
            client.close()

    def _poll(self) -> None:
        try:
            self._read_recent()
        except (ChaosError, RunFailed) as error:
            self.problems.append(f"the reader reads no more: {error}")

    def _read_recent(self) -> None:
        client = self._make_client()
        number = 0
        try:
            while not self._over.wait(STATUS_EVERY_S):
                recent = list(self._submissions.ids.items())[-RECENT:]
                if recent:
                    number += 1
                    self._read(client, *recent[number % len(recent)])
        finally:
            client.close()

    def _read(self, client: Client, task: str, id_: str) -> None:
        asked_ns = self._recorder.now_ns()
        outcome = client.invoke(ReadStatus(task, id_))
        if outcome.kind == "ok" and outcome.state is not None:
            self._recorder.record(
                "status", actor="reader", task=task, state=outcome.state, percent=outcome.percent, asked_ns=asked_ns
            )

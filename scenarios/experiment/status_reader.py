"""Reads statuses as a polling user does: those of recent tasks during the storm, and those of all tasks at the end."""

from scenarios.contract.system import Client, ReadStatus
from scenarios.contract.tasklab_probe import digest
from scenarios.experiment.stage import Flow, Stage
from scenarios.experiment.submissions import Submissions

RECENT = 10
"""Number of latest submissions that are read in turn: their tasks are still changing."""
LAST_READS_MAX = 500
"""Of more tasks than this, the last reading takes an even sample: judging an answer costs as much as reading it."""
READER = "reader"


class StatusReader:
    """A client of the system in a flow of its own; the answers are in the history."""

    def __init__(self, stage: Stage, submissions: Submissions, *, every_s: float) -> None:
        self._stage = stage
        self._submissions = submissions
        self._records = stage.records("client")
        self._every_s = every_s
        self._is_over = False
        self._over = stage.signal()
        self._flow: Flow | None = None

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

    def read_last(self, timeout_s: float) -> None:
        """Read the final status, which is judged too, of every answered task once, or of an even sample, as far as time allows."""
        deadline_ns = self._stage.now_ns() + round(timeout_s * 1e9)
        answered = sorted(self._submissions.ids.items())
        step = -(-len(answered) // LAST_READS_MAX) or 1
        client = self._stage.client(READER)
        try:
            for task, id_ in answered[::step]:
                if self._stage.now_ns() > deadline_ns:
                    return
                self._read(client, task, id_)
        finally:
            client.close()

    def _poll(self) -> None:
        client = self._stage.client(READER)
        number = 0
        try:
            while not self._over.wait_until(lambda: self._is_over, self._every_s):
                recent = list(self._submissions.ids.items())[-RECENT:]
                if recent:
                    number += 1
                    self._read(client, *recent[number % len(recent)])
        finally:
            client.close()

    def _read(self, client: Client, task: str, id_: str) -> None:
        asked_ns = self._stage.now_ns()
        outcome = client.invoke(ReadStatus(task, id_))
        if outcome.kind == "ok" and outcome.state is not None:
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

"""What became of every submission of a run, whoever made it: filled while the run goes on, read by its drain and its readers."""

import threading
from collections.abc import Mapping

from scenarios.contract.system import Client, Outcome, Submit
from scenarios.contract.tasklab_probe import Recorder
from scenarios.experiment.canaries import with_secret


class Submissions:
    """By the lab's task names. Everything that it hands out is a copy: submissions go on meanwhile."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._lock = threading.Lock()
        self._ids: dict[str, str] = {}
        self._outcomes: dict[str, str] = {}
        self._planted: set[str] = set()
        self._acknowledged = 0
        self.last_detail = ""

    def submit(self, client: Client, submit: Submit, actor: str) -> Outcome:
        """One submission through a client of this process, with a secret planted in it, recorded and noted."""
        fields = {"task": submit.task, "user": submit.user, "key": submit.key}
        self._recorder.record("submit.invoke", actor=actor, **fields)
        with self._lock:
            self._planted.add(submit.task)
        outcome = client.invoke(with_secret(submit))
        self._recorder.record(f"submit.{outcome.kind}", actor=actor, **fields, id=outcome.id, detail=outcome.detail)
        self.note(submit.task, outcome)
        return outcome

    def note(self, task: str, outcome: Outcome) -> None:
        """Take in how a submission ended that was recorded elsewhere."""
        with self._lock:
            self._outcomes[task] = outcome.kind
            self._acknowledged += outcome.kind == "ok"
            self.last_detail = outcome.detail or ""
            if outcome.id is not None:
                self._ids[task] = outcome.id

    @property
    def ids(self) -> Mapping[str, str]:
        """The system's id of every task that was answered with one, in the order of the answers."""
        with self._lock:
            return dict(self._ids)

    @property
    def acknowledged(self) -> int:
        """How many were by now, every one of a task that was submitted twice."""
        with self._lock:
            return self._acknowledged

    @property
    def planted(self) -> frozenset[str]:
        """The tasks that carry a secret (scenarios/experiment/canaries.py)."""
        with self._lock:
            return frozenset(self._planted)

    @property
    def outcomes(self) -> Mapping[str, str]:
        """How the latest submission of every task ended: ok, fail or info."""
        with self._lock:
            return dict(self._outcomes)

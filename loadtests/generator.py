"""The load generator: sends every submission at its due time, in a greenlet of its own, independent of the other submissions."""

import json
from collections.abc import Callable
from pathlib import Path

import gevent
from gevent.pool import Group

from loadtests.arrivals import LoadPlan, LoadTask, arrivals
from loadtests.connections import Connections, NoAnswer, NotSent
from loadtests.exchange_files import HISTORY_FILE, HISTORY_NAME, Marks, write_marks
from scenarios.contract.http_answers import TIMEOUT_S, HttpAnswer, answer_of, no_answer
from scenarios.contract.tasklab_probe import Recorder

GIVE_UP_S = 3 * TIMEOUT_S
"""Maximum wait for the last answers: connecting, sending and waiting have one time-out each."""

OnAnswer = Callable[[HttpAnswer, float], None]


class Generator:
    """Submits a plan to the API at `base_url`, once, and records it in `directory`.

    `on_answer` is called with each answer and the seconds since the due time of its submission. `token`: the bearer token of the API;
    "": none.
    """

    def __init__(
        self, plan: LoadPlan, base_url: str, directory: Path, t0_ns: int, on_answer: OnAnswer, *, token: str = ""
    ) -> None:
        self._plan = plan
        self._directory = directory
        self._recorder = Recorder(str(directory / HISTORY_FILE), HISTORY_NAME, t0_ns)
        self._on_answer = on_answer
        self._in_flight = Group()
        self._began_ns: int | None = None
        self.is_over = False
        self._authorization = {"Authorization": f"Bearer {token}"} if token else {}
        self._connections = Connections(base_url, timeout_s=TIMEOUT_S)

    @property
    def has_begun(self) -> bool:
        """Whether the load has begun."""
        return self._began_ns is not None

    def now_ns(self) -> int:
        """The time of the run's clock."""
        return self._recorder.now_ns()

    def submit_all(self) -> None:
        """Submit the plan, beginning now; return when every submission is answered or given up. Only the first call has an effect."""
        if self.has_begun:
            return
        self._began_ns = began_ns = self.now_ns()
        write_marks(self._directory, Marks(began_ns))
        for task in arrivals(self._plan):
            due_ns = began_ns + round(task.at_s * 1e9)
            gevent.sleep(max(0.0, (due_ns - self.now_ns()) / 1e9))
            self._in_flight.spawn(self._submit, task, due_ns)
        self.end()

    def end(self) -> None:
        """Wait for the outstanding answers, then close all connections. Idempotent."""
        if self._began_ns is None or self.is_over:
            return
        self._in_flight.join(timeout=GIVE_UP_S)
        self._connections.close()
        self.is_over = True
        write_marks(self._directory, Marks(self._began_ns, over_ns=self.now_ns()))

    def _submit(self, task: LoadTask, due_ns: int) -> None:
        fields = {"task": task.name, "user": task.user, "key": task.name}
        body = {"user_id": task.user, "type": "probe", "payload": {"task": task.name, "work_s": task.work_s}}
        self._recorder.record("submit.invoke", **fields, steps=1, planned_ns=due_ns)
        answer = self._ask(json.dumps(body).encode(), key=task.name)
        self._recorder.record(f"submit.{answer.kind}", **fields, id=answer.text("id"), detail=answer.detail)
        self._on_answer(answer, (self.now_ns() - due_ns) / 1e9)

    def _ask(self, body: bytes, *, key: str) -> HttpAnswer:
        headers = {"Content-Type": "application/json", "Idempotency-Key": key, **self._authorization}
        try:
            response = self._connections.post("/tasks", body, headers)
        except (NotSent, NoAnswer) as error:
            return no_answer(str(error), definite=error.definite)
        return answer_of(response.status, response.body)

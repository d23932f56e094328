"""The clients of a run: they submit on schedule whatever becomes of earlier submissions, read statuses, and record what they saw."""

import threading
import time
from collections.abc import Callable, Sequence

from scenarios.nemesis import Arrival
from scenarios.system import Client, Outcome, ReadStatus, Submit
from tasklab.tasklab_probe import Recorder

STATUS_EVERY_S = 0.1
TRIES_MAX = 6
PATIENCE_S = 0.2
"""Times the number of tries so far: three seconds in all, so that an API that is down for a moment loses no client's task."""
RECENT = 10
"""The reader looks at the latest submissions in turn: those are the ones on the move."""


class Clients:
    """Threads that each hold a client of the system; `ids` maps the lab's task names to the system's ids, where answered."""

    def __init__(self, make_client: Callable[[], Client], recorder: Recorder, count: int) -> None:
        self._make_client = make_client
        self._recorder = recorder
        self._count = count
        self._lock = threading.Lock()
        self._next = 0
        self._threads: list[threading.Thread] = []
        self._over = threading.Event()
        self.ids: dict[str, str] = {}
        self.outcomes: dict[str, str] = {}
        self.last_detail = ""

    def submit(self, client: Client, submit: Submit, actor: str) -> Outcome:
        """One submission, recorded."""
        fields = {"task": submit.task, "user": submit.user, "key": submit.key}
        self._recorder.record("submit.invoke", actor=actor, **fields)
        outcome = client.invoke(submit)
        self._recorder.record(f"submit.{outcome.kind}", actor=actor, **fields, id=outcome.id, detail=outcome.detail)
        with self._lock:
            self.outcomes[submit.task] = outcome.kind
            self.last_detail = outcome.detail or ""
            if outcome.id is not None:
                self.ids[submit.task] = outcome.id
        return outcome

    def start(self, arrivals: Sequence[Arrival]) -> None:
        """Begin to submit, and to read statuses of what was submitted."""
        began_s = time.monotonic()
        for number in range(1, self._count + 1):
            self._launch(f"client-{number}", lambda actor: self._submit_on_schedule(arrivals, began_s, actor))
        self._launch("reader", self._read_statuses)

    def finished(self) -> bool:
        """Whether every planned submission was answered."""
        return not any(thread.is_alive() for thread in self._threads if thread.name != "reader")

    def stop(self) -> None:
        """Submit and read no more; wait for what is under way."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def read_all(self, deadline_s: float) -> None:
        """Read the status of every answered task once, as far as time (of the monotonic clock) allows: the final word is judged too."""
        client = self._make_client()
        try:
            for task, id_ in sorted(self.ids.items()):
                if time.monotonic() > deadline_s:
                    return
                self._read(client, task, id_)
        finally:
            client.close()

    def _launch(self, actor: str, work: Callable[[str], None]) -> None:
        thread = threading.Thread(target=work, args=(actor,), name=actor, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _submit_on_schedule(self, arrivals: Sequence[Arrival], began_s: float, actor: str) -> None:
        client = self._make_client()
        try:
            while (arrival := self._take(arrivals)) is not None:
                if self._over.wait(max(0.0, began_s + arrival.at_s - time.monotonic())):
                    return
                self._submit_until_accepted(client, arrival.submit, actor)
        finally:
            client.close()

    def _submit_until_accepted(self, client: Client, submit: Submit, actor: str) -> None:
        """As a client does that wants its task done: the same key again until it is acknowledged, or patience is over."""
        for number in range(TRIES_MAX):
            if self.submit(client, submit, actor).kind == "ok" or self._over.wait(PATIENCE_S * number):
                return

    def _take(self, arrivals: Sequence[Arrival]) -> Arrival | None:
        with self._lock:
            number = self._next
            self._next += 1
        return arrivals[number] if number < len(arrivals) else None

    def _read_statuses(self, _actor: str) -> None:
        client = self._make_client()
        number = 0
        try:
            while not self._over.wait(STATUS_EVERY_S):
                with self._lock:
                    recent = list(self.ids.items())[-RECENT:]
                if recent:
                    number += 1
                    self._read(client, *recent[number % len(recent)])
        finally:
            client.close()

    def _read(self, client: Client, task: str, id_: str) -> None:
        outcome = client.invoke(ReadStatus(task, id_))
        if outcome.kind == "ok" and outcome.state is not None:
            self._recorder.record("status", actor="reader", task=task, state=outcome.state, percent=outcome.percent)

"""The clients of a run: they submit on schedule whatever becomes of earlier submissions, and again until they are acknowledged."""

import threading
import time
from collections.abc import Callable, Sequence

from chaos.errors import ChaosError
from scenarios.contract.system import Client, Submit
from scenarios.errors import RunFailed
from scenarios.experiment.plan import Arrival
from scenarios.experiment.submissions import Submissions

TRIES_MAX = 6
PATIENCE_S = 0.2
"""Times the number of tries so far: three seconds in all, so that an API that is down for a moment loses no client's task."""


class Clients:
    """Threads that each hold a client of the system; a `scenarios.experiment.driver.Driver`."""

    def __init__(
        self, make_client: Callable[[], Client], submissions: Submissions, arrivals: Sequence[Arrival], count: int
    ) -> None:
        self._make_client = make_client
        self._submissions = submissions
        self._arrivals = arrivals
        self._lock = threading.Lock()
        self._next = 0
        self._over = threading.Event()
        names = [f"client-{number}" for number in range(1, count + 1)]
        self._threads = [
            threading.Thread(target=self._submit_on_schedule, args=(name,), name=name, daemon=True) for name in names
        ]
        self._began_s: float | None = None
        self._problems: list[str] = []

    def start(self) -> None:
        """See scenarios.experiment.driver.Driver."""
        self._began_s = time.monotonic()
        for thread in self._threads:
            thread.start()

    def finished(self) -> bool:
        """See scenarios.experiment.driver.Driver."""
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """See scenarios.experiment.driver.Driver."""
        self._over.set()
        if self._began_s is not None:
            for thread in self._threads:
                thread.join()

    def problems(self) -> Sequence[str]:
        """See scenarios.experiment.driver.Driver: a client that died; what became of a submission is the system's affair, not the lab's."""
        return tuple(self._problems)

    def _submit_on_schedule(self, actor: str) -> None:
        try:
            self._submit_all(actor)
        except (ChaosError, RunFailed) as error:
            self._problems.append(f"{actor} submits no more: {error}")

    def _submit_all(self, actor: str) -> None:
        assert self._began_s is not None, "clients submit after they have been started"
        client = self._make_client()
        try:
            while (arrival := self._take()) is not None:
                if self._over.wait(max(0.0, self._began_s + arrival.at_s - time.monotonic())):
                    return
                self._submit_until_accepted(client, arrival.submit, actor)
        finally:
            client.close()

    def _submit_until_accepted(self, client: Client, submit: Submit, actor: str) -> None:
        """As a client does that wants its task done: the same key again until it is acknowledged, or patience is over."""
        for number in range(TRIES_MAX):
            accepted = self._submissions.submit(client, submit, actor).kind == "ok"
            if accepted or self._over.wait(PATIENCE_S * number):
                return

    def _take(self) -> Arrival | None:
        with self._lock:
            number = self._next
            self._next += 1
        return self._arrivals[number] if number < len(self._arrivals) else None

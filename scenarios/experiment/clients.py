"""The clients of a run: they submit on schedule whatever becomes of earlier submissions, and again until they are acknowledged."""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial

from scenarios.contract.system import Client
from scenarios.experiment.arrival import Act, Arrival
from scenarios.experiment.operator import OPERATOR, Operator
from scenarios.experiment.stage import Flow, Stage
from scenarios.experiment.submissions import Submissions

PATIENCE_S = 0.2
"""Times the number of tries so far: three seconds in all, so that an API that is down for a moment loses no client's task."""

Roster = Mapping[str, deque[Arrival]]
"""By the name of a client: its queue of submissions. Clients may share a queue; each takes the next one."""


def pool(arrivals: Sequence[Arrival], count: int) -> Roster:
    """So many clients that share the work."""
    shared = deque(arrivals)
    return {f"client-{number}": shared for number in range(1, count + 1)}


class Clients:
    """Flows that each hold a client of the system, and one of the person who does `acts`; a `scenarios.experiment.driver.Driver`."""

    def __init__(self, stage: Stage, submissions: Submissions, roster: Roster, acts: Sequence[Act] = ()) -> None:
        self._stage = stage
        self._submissions = submissions
        self._roster = roster
        self._flows: list[Flow] = []
        self._began_ns = 0
        self._is_over = False
        self._over = stage.signal()
        self._operator = Operator(stage, submissions, acts, stage.signal()) if acts else None

    def start(self) -> None:
        """Start every client of the roster, and the person."""
        self._began_ns = self._stage.now_ns()
        for name, queue in self._roster.items():
            self._flows.append(self._stage.spawn(name, partial(self._work, name, queue)))
        if self._operator is not None:
            self._flows.append(self._stage.spawn(OPERATOR, self._operator.work))

    def await_end(self) -> None:
        """Wait for every client to be done."""
        for flow in self._flows:
            flow.join()

    def stop(self) -> None:
        """Submit no more, and wait for what is under way."""
        self._is_over = True
        self._over.notify()
        if self._operator is not None:
            self._operator.stop()
        self.await_end()

    def problems(self) -> Sequence[str]:
        """None of its own: the stage names clients that died, and what became of a submission is the system's affair."""
        return ()

    def _work(self, actor: str, queue: deque[Arrival]) -> None:
        client = self._stage.client(actor)
        try:
            self._submit_all(client, actor, queue)
        finally:
            client.close()

    def _submit_all(self, client: Client, actor: str, queue: deque[Arrival]) -> None:
        while queue:
            try:
                arrival = queue.popleft()
            except IndexError:
                return  # another client took the last one
            due_s = arrival.at_s - (self._stage.now_ns() - self._began_ns) / 1e9
            if due_s > 0 and self._rest(due_s):
                return
            self._submit(client, arrival, actor)

    def _submit(self, client: Client, arrival: Arrival, actor: str) -> None:
        """As a client does that wants its task done: the same key again until it is acknowledged, or its tries are used up."""
        for number in range(1, arrival.tries + 1):
            if self._submissions.submit(client, arrival.submit, actor).kind == "ok":
                break
            if number < arrival.tries and self._rest(PATIENCE_S * number):
                return
        for _ in range(arrival.again):
            self._submissions.submit(client, arrival.submit, actor)
        if arrival.cancel_s is not None and not self._rest(arrival.cancel_s):
            self._submissions.cancel(client, arrival.submit.task, actor)

    def _rest(self, seconds: float) -> bool:
        """Let time pass; True: the clients are to stop."""
        return self._over.wait_until(lambda: self._is_over, seconds)

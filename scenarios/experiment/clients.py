"""The clients of a run: they submit on schedule, independently of earlier answers, and repeat what was not accepted."""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial

from scenarios.contract.system import Client
from scenarios.experiment.arrival import Act, Arrival
from scenarios.experiment.operator import OPERATOR, Operator
from scenarios.experiment.stage import Flow, Stage
from scenarios.experiment.submissions import Submissions

RETRY_DELAY_S = 0.2
"""Multiplied by the number of tries so far: three seconds in all, so that no client gives up during a short outage of the API."""

Roster = Mapping[str, deque[Arrival]]
"""Queues of submissions by client name. Clients may share a queue; each takes the next submission."""


def pool(arrivals: Sequence[Arrival], count: int) -> Roster:
    """A roster of `count` clients that share one queue."""
    shared = deque(arrivals)
    return {f"client-{number}": shared for number in range(1, count + 1)}


class Clients:
    """One flow for each client of the system, and one for the person who does `acts`; a `scenarios.experiment.driver.Driver`.

    `has_keys`: the system knows a repeated submission by its key. If not, what may have been accepted is not submitted again.
    """

    def __init__(
        self,
        stage: Stage,
        submissions: Submissions,
        roster: Roster,
        acts: Sequence[Act] = (),
        *,
        has_keys: bool = True,
    ) -> None:
        self._stage = stage
        self._submissions = submissions
        self._roster = roster
        self._may_be_accepted = {"ok"} if has_keys else {"ok", "info"}
        self._flows: list[Flow] = []
        self._began_ns = 0
        self._is_over = False
        self._over = stage.signal()
        self._operator = Operator(stage, submissions, acts) if acts else None

    def start(self) -> None:
        """Start every client of the roster, and the person."""
        self._began_ns = self._stage.now_ns()
        for name, queue in self._roster.items():
            self._flows.append(self._stage.spawn(name, partial(self._work, name, queue)))
        if self._operator is not None:
            self._flows.append(self._stage.spawn(OPERATOR, self._operator.work))

    def await_end(self) -> None:
        """Wait until every client is done."""
        for flow in self._flows:
            flow.join()

    def stop(self) -> None:
        """Start no more submissions, and wait for those in progress."""
        self._is_over = True
        self._over.notify()
        if self._operator is not None:
            self._operator.stop()
        self.await_end()

    def problems(self) -> Sequence[str]:
        """Always empty: the stage reports clients that died, and a failed submission is the system's failure."""
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
        """Submit until it is acknowledged (without keys: until it may be) or the tries are used up; then cancel, if planned."""
        for number in range(1, arrival.tries + 1):
            if self._submissions.submit(client, arrival.submit, actor).kind in self._may_be_accepted:
                break
            if number == arrival.tries or self._rest(RETRY_DELAY_S * number):
                return
        for _ in range(arrival.again):
            if self._is_over:
                return
            self._submissions.submit(client, arrival.submit, actor)
        if arrival.cancel_s is not None and not self._rest(arrival.cancel_s):
            self._submissions.cancel(client, arrival.submit.task, actor)

    def _rest(self, seconds: float) -> bool:
        """Sleep; True: the clients have to stop."""
        return self._over.wait_until(lambda: self._is_over, seconds)

"""The clients of a simulated world: one fiber a task, that hands it in until it is acknowledged, and one that reads statuses."""

from collections.abc import Callable
from functools import partial

from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Waiters
from chaos.simulation.network.network import LineCut
from chaos.simulation.world import SimulatedProcess, World
from scenarios.contract.http_answers import TIMEOUT_S
from scenarios.contract.system import Cancel, Operation, Outcome, ReadStatus, Submit
from scenarios.experiment.clients import PATIENCE_S
from scenarios.simulated.record import EventList
from scenarios.simulated.system import Simulation
from scenarios.simulated.worlds.plan import PlannedTask

RECENT = 10


class Clients:
    """Who submits; `ids` maps the lab's names of tasks to the system's, `outcomes` to how their last submission ended."""

    def __init__(self, world: World, simulation: Simulation, events: EventList) -> None:
        self._world = world
        self._simulation = simulation
        self._events = events
        self._apis = [process for process in world.processes.values() if process.plan.role == "api"]
        self._open = 0
        self.ids: dict[str, str] = {}
        self.outcomes: dict[str, str] = {}
        self.done: Waiters = []
        self.is_over = False

    def start(self, tasks: tuple[PlannedTask, ...], *, read_every_s: float) -> None:
        """Begin to submit on schedule, whatever becomes of earlier submissions."""
        for number, task in enumerate(tasks):
            for copy in range(2 if task.twice else 1):
                name = f"client-{task.task}" + ("-again" if copy else "")
                api = self._apis[(number + copy) % len(self._apis)]
                self.employ(name, partial(self._hand_in, task, name, api))
        if read_every_s > 0:
            self._world.spawn("reader", lambda: self._read(read_every_s))

    def employ(self, name: str, work: Callable[[], object]) -> None:
        """A client of that name does this, in a fiber of its own; until it has, clients are not done."""
        self._open += 1

        def body() -> None:
            try:
                work()
            finally:
                self._open -= 1
                if self._open == 0:
                    self._world.scheduler.wake(self.done)

        self._world.spawn(name, body)

    @property
    def are_done(self) -> bool:
        """Whether every planned submission was answered, or given up."""
        return self._open == 0

    def read_last(self) -> None:
        """Read the status of every answered task once: the final word is judged, too."""
        for task, id_ in sorted(self.ids.items()):
            self._read_one(task, id_)

    def _hand_in(self, task: PlannedTask, actor: str, api: SimulatedProcess) -> None:
        self._world.scheduler.rest(ns(task.at_s))
        submit = Submit(task.task, task.payload, user=task.user, key=task.task, deadline_s=task.deadline_s)
        for number in range(task.tries):
            if self.submit(submit, actor, api).kind == "ok":
                break
            self._world.scheduler.rest(ns(PATIENCE_S * (number + 1)))
        if task.cancel_s is not None and task.task in self.ids:
            self._world.scheduler.rest(ns(task.cancel_s))
            self.cancel(task.task, actor, api)

    def submit(self, submit: Submit, actor: str, api: SimulatedProcess) -> Outcome:
        """One submission, recorded; the calling fiber waits for the answer."""
        fields = {"task": submit.task, "user": submit.user, "key": submit.key}
        self._events.record("submit.invoke", actor=actor, **fields)
        outcome = self._ask(submit, api)
        # Counted from the answer, so never before the system's own, which counts from when it took the task in.
        deadline_s = None if submit.deadline_s is None else self._world.now_ns / 1e9 + submit.deadline_s
        self._events.record(
            f"submit.{outcome.kind}",
            actor=actor,
            **fields,
            id=outcome.id,
            detail=outcome.detail,
            deadline_s=None if outcome.kind == "fail" else deadline_s,
        )
        if self.outcomes.get(submit.task) != "ok":
            self.outcomes[submit.task] = outcome.kind
        if outcome.id is not None:
            self.ids[submit.task] = outcome.id
        return outcome

    def cancel(self, task: str, actor: str, api: SimulatedProcess) -> None:
        """One cancellation of a task that was answered with an id, recorded; the calling fiber waits for the answer."""
        self._events.record("cancel.invoke", actor=actor, task=task)
        outcome = self._ask(Cancel(task, self.ids[task]), api)
        self._events.record(f"cancel.{outcome.kind}", actor=actor, task=task, detail=outcome.detail)

    def _ask(self, operation: Operation, api: SimulatedProcess) -> Outcome:
        serve: Callable[[object], Outcome] = lambda server: self._simulation.serve(server, operation)  # noqa: E731
        try:
            return self._world.request(api, type(operation).__name__, serve, timeout_s=TIMEOUT_S)
        except LineCut as cut:
            return Outcome("fail" if cut.how == "refused" else "info", detail=f"{cut.how} by {api.name}")

    def _read(self, every_s: float) -> None:
        number = 0
        while not self.is_over:
            self._world.scheduler.rest(ns(every_s))
            recent = list(self.ids.items())[-RECENT:]
            if recent:
                number += 1
                self._read_one(*recent[number % len(recent)])

    def _read_one(self, task: str, id_: str) -> None:
        asked_ns = self._world.now_ns
        outcome = self._ask(ReadStatus(task, id_), self._apis[0])
        if outcome.kind == "ok" and outcome.state is not None:
            self._events.record(
                "status", actor="reader", task=task, state=outcome.state, percent=outcome.percent, asked_ns=asked_ns
            )

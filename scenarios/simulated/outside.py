"""The outside resource of a simulated world: the same ledger, reached over a simulated line, with gates that hold answers back."""

from collections import Counter
from typing import Any

from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Scheduler, Waiters
from chaos.simulation.network.network import Line, LineCut
from scenarios.experiment.outside import TASK_POINTS, Ledger, Point, Records, Request

PATIENCE_NS = ns(120.0)


class Gate:
    """Keeps back the answer to the `nth` request at a point, until released."""

    def __init__(self, point: Point, nth: int) -> None:
        self.point = point
        self.nth = nth
        self.actor = ""
        self.subject = ""
        self.fiber = ""
        self.is_reached = False
        self.is_released = False
        self.reached: Waiters = []
        self.released: Waiters = []


class SimulatedOutside:
    """What the lab owns of the outside: decides, counts, and holds at gates."""

    def __init__(self, scheduler: Scheduler, records: Records) -> None:
        self._scheduler = scheduler
        self.ledger = Ledger(records)
        self.last_ns = 0
        self._counts: Counter[str] = Counter()
        self._gates: list[Gate] = []
        self.counted: Waiters = []
        """Woken whenever a count goes up."""

    def arm(self, point: Point, nth: int) -> Gate:
        """A gate at the `nth` coming to `point` from now on."""
        gate = Gate(point, self._counts[point] + nth)
        self._gates.append(gate)
        return gate

    def release(self, gate: Gate) -> None:
        """Let the answer go. Idempotent."""
        gate.is_released = True
        if gate in self._gates:
            self._gates.remove(gate)
        self._scheduler.wake(gate.released)

    def count(self, point: str) -> int:
        """How many have come to `point` by now."""
        return self._counts[point]

    def answer(self, request: Request) -> dict[str, object]:
        """Decide; then wait at a gate, if this request has reached one."""
        point: str = request.point or request.op
        reply = self.ledger.decide(request)
        self._counts[point] += 1
        if point in TASK_POINTS:
            self.last_ns = self._scheduler.now_ns
        if self.counted:
            self._scheduler.wake(self.counted)
        if self._gates:
            self._hold(request, point)
        return reply

    def _hold(self, request: Request, point: str) -> None:
        fiber = self._scheduler.current
        for gate in list(self._gates):
            if gate.point == point and gate.nth == self._counts[point]:
                gate.actor = request.actor
                gate.subject = request.task or request.subject or request.resource or ""
                gate.fiber = fiber.name if fiber is not None else ""
                gate.is_reached = True
                self._scheduler.wake(gate.reached)
                while not gate.is_released:
                    self._scheduler.wait(gate.released)


class OutsideConnection:
    """A process's way to the outside resource; as tasklab_probe.Outside."""

    def __init__(self, outside: SimulatedOutside, line: Line, actor: str) -> None:
        self._outside = outside
        self._line = line
        self._actor = actor

    def arrive(self, point: Point, subject: str) -> int:
        """Say that this process has come to a point; how often `subject` has come there by now."""
        count: Any = self._ask(f"arrive {point}", Request("arrive", self._actor, point=point, subject=subject))["count"]
        return int(count)

    def effect(
        self, task: str, *, step: int = 1, attempt: int | None = None, key: str | None = None, fence: int | None = None
    ) -> bool:
        """Whether the effect was accepted."""
        request = Request("effect", self._actor, task=task, step=step, attempt=attempt, key=key, fence=fence)
        return bool(self._ask("effect", request)["accepted"])

    def write(self, resource: str, *, fence: int | None = None) -> bool:
        """Whether the write was accepted."""
        return bool(self._ask("write", Request("write", self._actor, resource=resource, fence=fence))["accepted"])

    def _ask(self, what: str, request: Request) -> dict[str, object]:
        try:
            return self._line.ask(
                what,
                lambda: self._outside.answer(request),
                patience_ns=PATIENCE_NS,
                subject=request.task or request.subject or request.resource or "",
            )
        except LineCut as cut:
            raise ConnectionError("the outside resource hung up") from cut

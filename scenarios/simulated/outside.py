"""The connection of a simulated process to the outside resource."""

from typing import Any

from chaos.simulation.kernel.clock import ns
from chaos.simulation.network.network import Line, LineCut
from scenarios.experiment.outside import Outside, Point, Request

TIMEOUT_NS = ns(120.0)


class OutsideConnection:
    """A process's connection to the outside resource, with the methods of tasklab_probe.Outside."""

    def __init__(self, outside: Outside, line: Line, actor: str) -> None:
        self._outside = outside
        self._line = line
        self._actor = actor

    def arrive(self, point: Point, subject: str) -> int:
        """Report that this process has reached a point; returns how often `subject` has reached it so far."""
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
                timeout_ns=TIMEOUT_NS,
                subject=request.task or request.subject or request.resource or "",
            )
        except LineCut as cut:
            raise ConnectionError("the outside resource closed the connection") from cut

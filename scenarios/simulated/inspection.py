"""What a system's own simulation may look at when its world has ended: every answer, the rows, and what is left in queues.

Beyond the promises, which any system can make: what only this system has stated, such as the code of an answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sqlalchemy import Engine

from chaos.simulation.kernel.trace import Step
from scenarios.contract.system import Operation, Outcome
from scenarios.record.history import History
from scenarios.simulated.worlds.plan import WorldPlan


@dataclass(frozen=True, slots=True)
class Answer:
    """A request of a client, and what it was answered; an outcome without an answer is `info`."""

    operation: Operation
    outcome: Outcome
    asked_ns: int
    answered_ns: int

    def has_code(self, code: str) -> bool:
        """Whether the API refused the request with this HTTP status."""
        return self.outcome.kind == "fail" and (self.outcome.detail or "").startswith(code)


@dataclass(frozen=True, slots=True)
class Inspection:
    """A world that has ended. `queues`: by name, the messages that no consumer has taken. `given_up`: those returned too often.

    `steps`: every call of its fibers, in order.
    """

    plan: WorldPlan
    history: History
    answers: Sequence[Answer]
    engine: Engine
    queues: Mapping[str, Sequence[bytes]]
    given_up: Sequence[bytes]
    steps: Sequence[Step]


@runtime_checkable
class Inspecting(Protocol):
    """A simulation that looks for what its system never does, whatever the faults."""

    def defects(self, inspection: Inspection) -> Sequence[str]:
        """What is wrong, a sentence each; each makes the world unknown."""

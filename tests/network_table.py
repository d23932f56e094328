"""What each network fault costs one question, the same in every world: the table to which real links and simulated lines are held."""

from dataclasses import dataclass

QUESTION_BYTES = 12_000
"""Sent, and sent back."""


@dataclass(frozen=True, slots=True)
class Row:
    """A fault and its cost: `takes_s` longer until the answer, or until the connection is seen to break (`breaks`)."""

    kind: str
    value: float
    takes_s: float
    breaks: bool = False


TABLE = (
    Row("delay", 60.0, takes_s=0.120),
    Row("delay", 150.0, takes_s=0.300),
    Row("slow", 40.0, takes_s=0.600),
    Row("slow", 120.0, takes_s=0.200),
    Row("reset", 0.0, takes_s=0.0, breaks=True),
    Row("reset", 250.0, takes_s=0.250, breaks=True),
)

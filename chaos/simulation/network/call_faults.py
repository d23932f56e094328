"""Faults of a single call of a single fiber, as frozen data: the finest aim that a fault can have."""

from dataclasses import dataclass
from typing import Literal

Side = Literal["before", "after"]
"""Before the request took effect, or after it did and before its answer came."""


@dataclass(frozen=True, slots=True)
class KillAtCall:
    """The calling process is killed."""

    side: Side


@dataclass(frozen=True, slots=True)
class PauseAtCall:
    """The calling process is paused."""

    side: Side


@dataclass(frozen=True, slots=True)
class CutAtCall:
    """The connection breaks: before, the request is lost; after, its answer. Noticed after `noticed_s`, or at the time-out."""

    side: Side
    noticed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class UndoAtCall:
    """The database undoes the statement (1205, a lock time-out) or the transaction (1213, a deadlock's victim) instead."""

    code: int


CallFault = KillAtCall | PauseAtCall | CutAtCall | UndoAtCall

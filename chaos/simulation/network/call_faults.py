"""Faults of one call of one fiber, as frozen data: the most precisely aimed faults."""

from dataclasses import dataclass
from typing import Literal

Side = Literal["before", "after"]
"""Before the request takes effect, or after that and before its answer arrives."""


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
    """The connection breaks; `before`: the request is lost, `after`: its answer. The caller notices it after `noticed_s`."""

    side: Side
    noticed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class UndoAtCall:
    """The database undoes the statement (1205, lock time-out) or the transaction (1213, deadlock) instead of executing the call."""

    code: int


@dataclass(frozen=True, slots=True)
class KillDatabaseAtCall:
    """The database dies, `before` the call arrives, or `after` it took effect and before its answer arrives; other calls are spared."""

    side: Side


CallFault = KillAtCall | PauseAtCall | CutAtCall | UndoAtCall | KillDatabaseAtCall

"""What can go wrong with the lab's own work in this package; a broken promise is a Verdict, never an exception.

ScenarioError
├── WrongUsage           what was asked for cannot be understood or done (exit code 2)
│   ├── UnknownName          the caller named a scenario, system or promise that does not exist
│   ├── RunExists            the run directory holds a run already
│   ├── NothingToJudge       a path holds no run, no history or no cases
│   └── MalformedPolicy      what was given as a system's limits is none
├── NotApplicable        this scenario cannot be aimed at this system or environment (unknown: exit code 3)
└── RunFailed            the lab could not bring the run to its end (unknown: exit code 3)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # judges raise some of these, and judges import no I/O
    from pathlib import Path


class ScenarioError(Exception):
    """Something the person at the command line has to know, in one sentence."""


class WrongUsage(ScenarioError):
    """What was asked for cannot be understood or done; the message says what would be."""


class UnknownName(WrongUsage):
    """No scenario, system, fault or promise of that name; the message lists the nearest."""

    def __init__(self, kind: str, name: str, nearest: Sequence[str]) -> None:
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        super().__init__(f"there is no {kind} {name!r}{hint}")
        self.kind = kind
        self.name = name
        self.nearest = tuple(nearest)


class RunExists(WrongUsage):
    """A run directory is written once."""

    def __init__(self, path: "Path") -> None:
        super().__init__(f"{path} already holds a run; choose another --out, or another seed")
        self.path = path


class NothingToJudge(WrongUsage):
    """The path holds no run, no history or no cases."""


class MalformedPolicy(WrongUsage):
    """What was given as a policy is none; the message says why."""


class NotApplicable(ScenarioError):
    """The scenario's fault has nothing to strike in this system or environment."""


class RunFailed(ScenarioError):
    """The lab could not finish the run: a process did not start, nothing got ready, the account could not be read."""

"""What can go wrong with the lab's own work in this package; a broken promise is a Verdict, never an exception.

ScenarioError
├── UnknownName          the caller named a scenario, system or promise that does not exist (wrong usage)
├── WrongUsage           what was asked for cannot be understood or done: a token, a range, a plug-in that is none
│   └── RunExists        the run directory holds a run already
├── NotApplicable        this scenario cannot be aimed at this system or environment (wrong usage or unknown)
└── RunFailed            the lab could not bring the run to its end: the verdict is unknown
"""

from collections.abc import Sequence
from pathlib import Path


class ScenarioError(Exception):
    """Something the person at the command line has to know, in one sentence."""


class UnknownName(ScenarioError):
    """No scenario, system, fault or promise of that name; the message lists the nearest."""

    def __init__(self, kind: str, name: str, nearest: Sequence[str]) -> None:
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        super().__init__(f"there is no {kind} {name!r}{hint}")
        self.kind = kind
        self.name = name
        self.nearest = tuple(nearest)


class WrongUsage(ScenarioError):
    """What was asked for cannot be understood or done; the message says what would be."""


class RunExists(WrongUsage):
    """A run directory is written once."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} already holds a run; choose another --out, or another seed")
        self.path = path


class NotApplicable(ScenarioError):
    """The scenario's fault has nothing to strike in this system or environment."""


class RunFailed(ScenarioError):
    """The lab could not finish the run: a process did not start, nothing got ready, the account could not be read."""

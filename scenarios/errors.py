"""What can go wrong with the lab's own work in this package; a broken promise is a Verdict, never an exception.

ScenarioError
├── UnknownName          the caller named a scenario, system or promise that does not exist (wrong usage)
├── WrongUsage           what was asked for cannot be understood: a token, a range (wrong usage)
├── NotApplicable        this scenario cannot be aimed at this system or environment (wrong usage or unknown)
└── RunFailed            the lab could not bring the run to its end: the verdict is unknown
"""

from collections.abc import Sequence


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
    """What was asked for cannot be understood."""


class NotApplicable(ScenarioError):
    """The scenario's fault has nothing to strike in this system or environment."""


class RunFailed(ScenarioError):
    """The lab could not finish the run: a process did not start, nothing got ready, the account could not be read."""

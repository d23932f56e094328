"""What can go wrong with the lab's own work in this package; a broken promise is a Verdict, never an exception.

ScenarioError
├── WrongUsage           what was asked for cannot be understood or done (exit code 2)
│   ├── UnknownName          the caller named a scenario, system or promise that does not exist
│   ├── RunExists            the run directory holds a run already
│   ├── NothingToJudge       a path holds no run, no history or no cases
│   ├── MalformedPolicy      what was given as a system's limits is none
│   ├── MalformedStatement   a plug-in states something of its system that cannot be
│   ├── NotAToken            what was given to be replayed says no world
│   ├── NotARange            seeds, or a shard, that are none
│   └── NotRows              a file that holds no rows of a campaign
├── NotApplicable        this scenario cannot be aimed at this system or environment (unknown: exit code 3)
└── RunFailed            the lab could not bring the run to its end (unknown: exit code 3)
    ├── PluginFailed         a plug-in raised, or its answer is none
    ├── PluginLost           the client process of a plug-in hung, ended or broke the protocol
    ├── ExecutorMissing      what was asked to run simulated worlds is not installed
    └── ExecutorFailed       whoever ran them did not bring one to its end

Beside the tree are exceptions that never leave this package: whoever calls what raises them makes a finding of them. MalformedEvent
(events.py), MalformedHistory and MalformedEdn (jepsen/) say what cannot be read, SiftingFailed (engines/sieve.py) that a sieve gave
up, CannotStrike (simulated/faults.py) that a strike misses. NotARun (reports/) and NoUrls (tasklab/) are of this tree, too.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # judges raise some of these, and judges import no I/O
    from pathlib import Path


class ScenarioError(Exception):
    """Something the person at the command line has to know, in one sentence."""


class WrongUsage(ScenarioError):
    """What was asked for cannot be understood or done; the message says what would be."""


_LISTS = {"promise": "guarantees"}
"""What `tasklab list` calls them, where it is not the plural."""


class UnknownName(WrongUsage):
    """No scenario, system, fault or promise of that name; the message lists the nearest."""

    def __init__(self, kind: str, name: str, nearest: Sequence[str]) -> None:
        hint = (
            f"did you mean {' or '.join(nearest)}?"
            if nearest
            else f"`tasklab list {_LISTS.get(kind, f'{kind}s')}` names all"
        )
        super().__init__(f"there is no {kind} {name!r}; {hint}")
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


class MalformedStatement(WrongUsage):
    """A plug-in states something of its system that cannot be: a negative duration, an unknown promise."""

    def __init__(self, system: str, what: str, why: str) -> None:
        super().__init__(f"the plug-in of {system} states {what}: {why}")
        self.system = system


class NotAToken(WrongUsage):
    """What was given to be replayed says no world."""

    def __init__(self, token: str) -> None:
        super().__init__(
            f"{token[:60]!r} is no token: one looks like SERIES~SYSTEM~NUMBER, or world~… as `tasklab simulate` prints it"
        )


class NotARange(WrongUsage):
    """Seeds or a shard that are none."""

    def __init__(self, text: str, form: str) -> None:
        super().__init__(f"{text!r} is not of the form {form}")


class NotRows(WrongUsage):
    """A file that does not hold what `tasklab simulate --out` writes."""

    def __init__(self, file: "Path", why: str) -> None:
        super().__init__(f"{file} cannot be merged: {why}")


class NotApplicable(ScenarioError):
    """The scenario's fault has nothing to strike in this system or environment."""


class RunFailed(ScenarioError):
    """The lab could not finish the run: a process did not start, nothing got ready, the account could not be read."""


class PluginFailed(RunFailed):
    """A plug-in raised, or answered something that is no answer. `why` says what, without the name of the system."""

    def __init__(self, system: str, what: str, why: str) -> None:
        super().__init__(f"the plug-in of {system} failed in {what}: {why}")
        self.system = system
        self.why = why


class PluginLost(RunFailed):
    """The client process of a plug-in is gone, or is asked for nothing more after a mistake of the plug-in.

    `definite`: the operation was surely not done, because it was not sent.
    """

    def __init__(self, why: str, *, definite: bool) -> None:
        super().__init__(why)
        self.definite = definite


class ExecutorMissing(RunFailed):
    """What was asked to run the worlds is not installed."""

    def __init__(self, name: str, mend: str) -> None:
        super().__init__(f"the executor {name!r} is not there; {mend}")


class ExecutorFailed(RunFailed):
    """Whoever ran the worlds did not bring one to its end."""

    def __init__(self, name: str, error: Exception) -> None:
        last = (str(error).strip() or repr(error)).splitlines()[-1]
        super().__init__(f"the executor {name!r} could not run the worlds: {last}")

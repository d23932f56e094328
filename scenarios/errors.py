"""The errors of the lab. A broken promise is a Verdict, never an exception.

ScenarioError
├── WrongUsage           the request is invalid or impossible (exit code 2)
│   ├── UnknownName          there is no scenario, system or promise of that name
│   ├── RunExists            the run directory already holds a run
│   ├── NothingToJudge       a path holds no run, no history or no cases
│   ├── MalformedPolicy      a file of a system's limits is invalid
│   ├── MalformedStatement   a plug-in states something impossible of its system
│   ├── MalformedConfiguration  tasklab.toml is invalid
│   ├── NotAToken            the text to be replayed is not a token
│   ├── NotTrusted           a token names code that is not registered, and that the user did not name
│   ├── NotARange            an invalid range of seeds, or an invalid shard
│   └── NotRows              a file that does not hold rows of a campaign
├── UnreadableVerdicts   verdicts.json of a stored run is damaged; a report is written without it
├── NotApplicable        the scenario's faults have no target in this system or environment (unknown: exit code 3)
└── RunFailed            the lab could not complete the run (unknown: exit code 3)
    ├── PluginFailed         a plug-in raised, or gave an invalid answer
    ├── PluginLost           the client process of a plug-in hung, ended or broke the protocol
    ├── ExecutorMissing      the executor of simulated worlds is not installed
    └── ExecutorFailed       the executor could not complete a world

Exceptions outside this tree never leave their package, whose callers turn them into findings: MalformedEvent, MalformedHistory and
MalformedEdn (input that cannot be parsed), ScanFailed (the prefilter gave up). NotARun (reports),
NoUrls and ControlNotSilent (tasklab) belong to this tree.
"""

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # judges raise some of these, and judges import no I/O
    from pathlib import Path


class ScenarioError(Exception):
    """Base of all; the message is one sentence for the user of the command line."""


class WrongUsage(ScenarioError):
    """The request is invalid or impossible; the message says what to do instead."""


_LISTS = {"promise": "guarantees"}
"""The list's name in `tasklab list`, where it is not the plural."""


class UnknownName(WrongUsage):
    """No scenario, system, fault or promise of that name; the message lists the most similar of the `known` names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        similar = nearest(name, known)
        hint = (
            f"did you mean {' or '.join(similar)}?"
            if similar
            else f"`tasklab list {_LISTS.get(kind, f'{kind}s')}` names all"
        )
        super().__init__(f"there is no {kind} {name!r}; {hint}")
        self.kind = kind
        self.name = name
        self.nearest = tuple(similar)


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Up to three of the known names that resemble `name`, most similar first."""
    return difflib.get_close_matches(name, list(known), n=3, cutoff=0.4)


class RunExists(WrongUsage):
    """The run directory already holds a run; it is written only once."""

    def __init__(self, path: "Path") -> None:
        super().__init__(f"{path} already holds a run; choose another --out, or another seed")
        self.path = path


class NothingToJudge(WrongUsage):
    """The path holds no run, no history or no cases."""


class MalformedPolicy(WrongUsage):
    """A policy is invalid; the message says why."""


class MalformedStatement(WrongUsage):
    """A plug-in states something impossible: a negative duration, an unknown promise."""

    def __init__(self, system: str, what: str, why: str) -> None:
        super().__init__(f"the plug-in of {system} states {what}: {why}")
        self.system = system
        self.what = what
        self.why = why


class MalformedConfiguration(WrongUsage):
    """A configuration file is invalid; the message names the file, the key, and what it must be."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(f"{file}: {why}")
        self.file = file


class NotAToken(WrongUsage):
    """The text to be replayed is not a token; `why`: what is wrong with a text of the right form."""

    def __init__(self, token: str, why: str = "") -> None:
        form = "a token has the form SERIES~SYSTEM~NUMBER, or world~… as `tasklab simulate` prints it"
        super().__init__(f"{token[:60]!r} is not a token: {why or form}")


class NotTrusted(WrongUsage):
    """A token or a run directory names code by its address, and the user did not name the same code."""

    def __init__(self, kind: str, address: str) -> None:
        super().__init__(
            f"the token names the {kind} {address[:120]!r}, which is not registered: its code is not imported because a token "
            f"names it; if you trust this code, add --{kind} {address[:120]}"
        )
        self.kind = kind
        self.address = address


class NotARange(WrongUsage):
    """An invalid range of seeds, or shard."""

    def __init__(self, text: str, form: str) -> None:
        super().__init__(f"{text!r} is not of the form {form}")


class NotRows(WrongUsage):
    """A file that `tasklab simulate --out` did not write."""

    def __init__(self, file: "Path", why: str) -> None:
        super().__init__(f"{file} cannot be merged: {why}")


class UnreadableVerdicts(ScenarioError):
    """verdicts.json exists but is damaged; the message says how."""


class NotApplicable(ScenarioError):
    """The scenario's faults have no target in this system or environment."""


class RunFailed(ScenarioError):
    """The lab could not complete the run: a process did not start or become ready, or the task listing could not be read."""


class PluginFailed(RunFailed):
    """A plug-in raised, or gave an invalid answer. `why`: the problem, without the name of the system."""

    def __init__(self, system: str, what: str, why: str) -> None:
        super().__init__(f"the plug-in of {system} failed in {what}: {why}")
        self.system = system
        self.why = why


class PluginLost(RunFailed):
    """The client process of a plug-in is gone, or is no longer used after a mistake of the plug-in.

    `definite`: the operation was surely not done, because it was not sent.
    """

    def __init__(self, why: str, *, definite: bool) -> None:
        super().__init__(why)
        self.definite = definite


class ExecutorMissing(RunFailed):
    """The executor of simulated worlds is not installed."""

    def __init__(self, name: str, remedy: str) -> None:
        super().__init__(f"the executor {name!r} is not installed; {remedy}")


class ExecutorFailed(RunFailed):
    """The executor could not complete a world."""

    def __init__(self, name: str, error: Exception) -> None:
        last = (str(error).strip() or repr(error)).splitlines()[-1]
        super().__init__(f"the executor {name!r} could not run the worlds: {last}")

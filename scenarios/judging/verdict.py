"""Verdicts: held, broken or unknown, with the witnesses that prove them."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scenarios.judging.guarantees import Guarantee


class Ruling(enum.StrEnum):
    """The three possible answers to whether a promise held; there is no default."""

    HELD = "held"
    BROKEN = "broken"
    UNKNOWN = "unknown"


EXIT_HELD, EXIT_BROKEN, EXIT_UNKNOWN = 0, 1, 3
"""Exit codes of a process that judged; 2 means wrong usage."""


def exit_code_of(rulings: Iterable[Ruling]) -> int:
    """0: all held; 1: one is broken; 3: none is broken, but one is unknown or there are none."""
    found = set(rulings)
    if Ruling.BROKEN in found:
        return EXIT_BROKEN
    return EXIT_HELD if found == {Ruling.HELD} else EXIT_UNKNOWN


class Proof(enum.Enum):
    """The kind of evidence for a violation; it decides whether the violation counts in an incomplete run (docs/adr/0002)."""

    EVENTS = "events that are there"
    RECORD = "the record having missed nothing until then"
    END = "the account at the end of a healed and drained run"


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation of a promise: its witness, the kind of evidence, and one sentence for people."""

    witness: str
    proof: Proof
    what: str


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of one checker.

    `exercised`: number of subjects (tasks, repeats, leases) that put the promise to the test; with 0, "held" is no evidence.
    `undecided`: why the checker cannot decide although the run is complete; empty if it can.
    """

    violations: tuple[Violation, ...] = ()
    exercised: int = 0
    undecided: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one promise over one history.

    `witnesses`: all tasks (for leases and limits: resources or users) that prove a violation, sorted. `reason`: one sentence for people.
    `figures`: counts of the checker (name → number), shown with every ruling. `exercised`: whether the run put the promise to the test;
    without it, "held" is no evidence.
    """

    guarantee: Guarantee
    ruling: Ruling
    reason: str = field(default="", compare=False)
    witnesses: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict, compare=False)
    exercised: bool = field(default=False, compare=False)


def held(
    guarantee: Guarantee, reason: str = "", *, figures: Mapping[str, float] | None = None, exercised: bool = False
) -> Verdict:
    """The history contains nothing that breaks the promise."""
    return Verdict(guarantee, Ruling.HELD, reason, figures=figures or {}, exercised=exercised)


def broken(
    guarantee: Guarantee, reason: str = "", *, witnesses: Iterable[str], figures: Mapping[str, float] | None = None
) -> Verdict:
    """The history proves a violation; `witnesses` must not be empty."""
    proof = tuple(sorted(set(witnesses)))
    assert proof, "a broken promise needs at least one witness"
    return Verdict(guarantee, Ruling.BROKEN, reason, proof, figures or {}, exercised=True)


def unknown(
    guarantee: Guarantee, reason: str, *, figures: Mapping[str, float] | None = None, exercised: bool = False
) -> Verdict:
    """The lab could not decide; `reason` says why."""
    return Verdict(guarantee, Ruling.UNKNOWN, reason, figures=figures or {}, exercised=exercised)

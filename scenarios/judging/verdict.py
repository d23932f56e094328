"""Verdicts: held, broken or unknown, with the witnesses that prove them."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scenarios.judging.guarantees import Guarantee


class Ruling(enum.StrEnum):
    """The three answers a judge can give; there is no fourth, and no default."""

    HELD = "held"
    BROKEN = "broken"
    UNKNOWN = "unknown"


EXIT_HELD, EXIT_BROKEN, EXIT_UNKNOWN = 0, 1, 3
"""How a process ends that has judged; 2 is left to wrong usage."""


def exit_code_of(rulings: Iterable[Ruling]) -> int:
    """0: all held; 1: one is broken; 3: none is, but one is unknown, or there is none."""
    found = set(rulings)
    if Ruling.BROKEN in found:
        return EXIT_BROKEN
    return EXIT_HELD if found == {Ruling.HELD} else EXIT_UNKNOWN


class Proof(enum.Enum):
    """What a violation rests on; it decides whether it still stands when a run is incomplete (docs/adr/0002)."""

    EVENTS = "events that are there"
    RECORD = "the record having missed nothing until then"
    END = "the account at the end of a healed and drained run"


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that should not have happened: its witness, what it rests on, and one sentence for a person."""

    witness: str
    proof: Proof
    what: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What one checker found.

    `exercised`: how many subjects (tasks, repeats, leases) put the promise to the test; 0 means that "held" is no evidence.
    `undecided`: why the checker cannot tell although the run is complete, where it cannot.
    """

    violations: tuple[Violation, ...] = ()
    exercised: int = 0
    undecided: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one promise over one history.

    `witnesses` are the tasks (for leases and limits: the resource or user) that prove a break, all of them, sorted.
    `reason` is one sentence for a person. `figures` are what was counted on the way (name → number), shown whatever the ruling.
    `exercised` says whether the run put the promise to the test at all; "held" without it is no evidence.
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
    """The history proves a violation; `witnesses` must not be empty, they are the proof."""
    proof = tuple(sorted(set(witnesses)))
    assert proof, "a broken promise needs at least one witness"
    return Verdict(guarantee, Ruling.BROKEN, reason, proof, figures or {}, exercised=True)


def unknown(
    guarantee: Guarantee, reason: str, *, figures: Mapping[str, float] | None = None, exercised: bool = False
) -> Verdict:
    """The lab could not tell, and why."""
    return Verdict(guarantee, Ruling.UNKNOWN, reason, figures=figures or {}, exercised=exercised)

"""What a judge says: held, broken or unknown, with the witnesses that prove it. Three kinds of news, never mixed."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scenarios.guarantees import Guarantee


class Ruling(enum.StrEnum):
    """The three answers a judge can give; there is no fourth, and no default."""

    HELD = "held"
    BROKEN = "broken"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one promise over one history.

    `witnesses` are the tasks (for leases and limits: the resource or user) that prove a break, all of them, sorted.
    `reason` is one sentence for a person. `figures` are what was counted on the way (name → number), shown whatever the ruling.
    """

    guarantee: Guarantee
    ruling: Ruling
    reason: str = ""
    witnesses: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict, compare=False)


def held(guarantee: Guarantee, reason: str = "", *, figures: Mapping[str, float] | None = None) -> Verdict:
    """The history contains nothing that breaks the promise."""
    return Verdict(guarantee, Ruling.HELD, reason, figures=figures or {})


def broken(
    guarantee: Guarantee, reason: str = "", *, witnesses: Iterable[str], figures: Mapping[str, float] | None = None
) -> Verdict:
    """The history proves a violation; `witnesses` must not be empty, they are the proof."""
    proof = tuple(sorted(set(witnesses)))
    assert proof, "a broken promise needs at least one witness"
    return Verdict(guarantee, Ruling.BROKEN, reason, proof, figures or {})


def unknown(guarantee: Guarantee, reason: str, *, figures: Mapping[str, float] | None = None) -> Verdict:
    """The lab could not tell, and why."""
    return Verdict(guarantee, Ruling.UNKNOWN, reason, figures=figures or {})

"""The content of verdicts.json, as it is written and read.

Every field has a default, because a report must read files of older and newer versions of the lab.
"""

import msgspec

from scenarios.judging.journey import JourneyStep
from scenarios.judging.verdict import Ruling


class VerdictRecord(msgspec.Struct, frozen=True, kw_only=True, rename={"ruling": "verdict"}):
    """The verdict on one guarantee. `exercised`: the run contained something that could have violated it."""

    ruling: Ruling
    witnesses: tuple[str, ...] = ()
    reason: str = ""
    figures: dict[str, object] = msgspec.field(default_factory=dict)
    exercised: bool = False


class AccountRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The place in which each submitted task ended; a count is None if the system cannot list such tasks.

    `strangers`: tasks that the system lists and no client submitted (some may be in `stuck`, too). `contradiction`: why the account
    does not balance.
    """

    submitted: int | None = None
    done: int | None = None
    dead: int | None = None
    cancelled: int | None = None
    expired: int | None = None
    pending: int | None = None
    waiting: int | None = None
    never_accepted: int | None = None
    lost: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()
    contradiction: str = ""
    balanced: bool = False


class JudgementRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All verdicts on one run, by name of the guarantee; journeys by witness.

    `left_out`: the number of events that a journey lacks in its middle, if it lacks any.
    """

    verdicts: dict[str, VerdictRecord] = msgspec.field(default_factory=dict)
    not_claimed: dict[str, VerdictRecord] = msgspec.field(default_factory=dict)
    account: AccountRecord | None = None
    duplicates: dict[str, int] = msgspec.field(default_factory=dict)
    bounds: dict[str, str] = msgspec.field(default_factory=dict)
    journeys: dict[str, tuple[JourneyStep, ...]] = msgspec.field(default_factory=dict)
    left_out: dict[str, int] = msgspec.field(default_factory=dict)
    problems: tuple[str, ...] = ()
    malformed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    exit_code: int | None = None

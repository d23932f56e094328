"""What the judges wrote into verdicts.json, read tolerantly: a report must open after a crash, and beside a newer judge."""

from pathlib import Path

import msgspec

from scenarios.judging.verdict import Ruling
from scenarios.stored.rundir import VERDICTS_FILE


class Ruled(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one promise. `exercised`: the run contained something that could have broken it."""

    verdict: Ruling
    witnesses: tuple[str, ...] = ()
    reason: str = ""
    figures: dict[str, object] = msgspec.field(default_factory=dict)
    exercised: bool = False


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Where every submission ended; a count is None where nobody could say.

    `strangers` are tasks that the system lists and nobody submitted (some may be in `stuck`, too); `contradiction` says why it does
    not balance.
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


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a journey in plain words; `t_ns` since the run began, `lane` where it was seen."""

    t_ns: int
    actor: str
    lane: str
    event: str
    text: str


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The content of verdicts.json. Verdicts are by name of promise, journeys by task.

    `left_out`: how many events a journey lacks in the middle, where it does.
    """

    verdicts: dict[str, Ruled] = msgspec.field(default_factory=dict)
    not_claimed: dict[str, Ruled] = msgspec.field(default_factory=dict)
    account: Account | None = None
    duplicates: dict[str, int] = msgspec.field(default_factory=dict)
    bounds: dict[str, str] = msgspec.field(default_factory=dict)
    journeys: dict[str, tuple[Moment, ...]] = msgspec.field(default_factory=dict)
    left_out: dict[str, int] = msgspec.field(default_factory=dict)
    problems: tuple[str, ...] = ()
    malformed: tuple[str, ...] = ()
    exit_code: int | None = None


class UnreadableJudgement(ValueError):
    """verdicts.json is there, and is not what a judge writes; the message says why."""


def read_judgement(run_directory: Path) -> Judgement | None:
    """What was judged of this run, or None where nothing was.

    Raises:
        UnreadableJudgement: the file is damaged, or written by something else.
    """
    try:
        return msgspec.json.decode((run_directory / VERDICTS_FILE).read_bytes(), type=Judgement)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableJudgement(f"{VERDICTS_FILE} cannot be read: {error}") from error

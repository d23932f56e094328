"""What is known of a run beside its history: what was run, how each fault went, figures of load. The content of run.json and live.json."""

from typing import Any

import msgspec

_EXCUSES = {"process_killed": "crash", "process_paused": "pause"}
"""Which repeats a fault explains, where its record does not state it: in earlier versions, and for faults of single calls."""


class FaultRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault of the plan as it really went; times in ns since the run began, None where it never got that far.

    `roles`: those of the struck process, where it is one of the system's. `excuses`: which repeats the fault explains
    (`chaos.faults.Excuse`); empty where it is not stated. `answered`, `attempts`: submissions that were answered and attempts that
    began from its begin until it had healed; None: it never got that far.
    """

    fault: str
    target: str
    when: str
    begun_ns: int | None = None
    bit_ns: int | None = None
    ended_ns: int | None = None
    healed_ns: int | None = None
    evidence: str = ""
    problem: str = ""
    roles: tuple[str, ...] = ()
    excuses: str = ""
    answered: int | None = None
    attempts: int | None = None

    @property
    def ended_process(self) -> bool:
        """Whether its process was dead while it lasted."""
        return self._excuses == "crash"

    @property
    def stopped_process(self) -> bool:
        """Whether its process did nothing while it lasted: it was dead, or paused."""
        return self._excuses in ("crash", "pause")

    @property
    def _excuses(self) -> str:
        return self.excuses or _EXCUSES.get(self.fault, "")


class Percentiles(msgspec.Struct, frozen=True):
    """Of some times: seconds that half, 95 and 99 of a hundred did not exceed, and the longest; nearest rank, nothing interpolated."""

    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


class LoadFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a load test measured. Counts are of tasks; times count from the instant at which a submission was due, not sent.

    `answers`: until the answer (where none came, until the generator gave up, so that a frozen system is seen). `effects`: until the
    first accepted effect, of those tasks that had one; the acknowledged without are `without_effect`. `backlog`: tasks sent, not
    refused, and without effect at the planned end of the load. `caught_up_s`: from then to the last first effect (negative: none was open).
    """

    planned: int
    sent: int
    on_time: int
    acknowledged: int
    refused: int
    unknown: int
    planned_per_s: float
    offered_per_s: float
    latest_s: float
    answers: Percentiles | None
    effects: Percentiles | None
    without_effect: int
    backlog: int
    caught_up_s: float


class WorkFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks submitted after the warm-up; how many of them were acknowledged; how many of these had ended after the drain."""

    submitted: int
    acknowledged: int
    ended: int


class DeathRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A process that ended by itself: how often; and of the last time how it ended, the name of its log, and the last lines in it."""

    process: str
    times: int
    how: str
    log: str = ""
    last_lines: tuple[str, ...] = ()


class Turn(msgspec.Struct, frozen=True):
    """One step of a story: from `began_ns` on, `actor` did what `text` says."""

    began_ns: int
    actor: str
    text: str


class RunFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The content of run.json."""

    scenario: str
    system: str
    environment: str
    seed: int
    repeat: str
    argv: list[str] = msgspec.field(default_factory=list)
    story: str = ""
    claims: list[str] = msgspec.field(default_factory=list)
    at_stake: list[str] = msgspec.field(default_factory=list)
    capabilities: list[str] = msgspec.field(
        default_factory=list
    )  # what the system can do, as it states or its claims need
    policy: dict[str, object] = msgspec.field(default_factory=dict)
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    commit: str = ""
    started_at: str = ""
    startup_s: dict[str, float] = msgspec.field(default_factory=dict)
    took_s: float | None = None
    phases_ns: dict[str, int] = msgspec.field(default_factory=dict)
    strikes: list[FaultRecord] = msgspec.field(default_factory=list)
    problems: list[str] = msgspec.field(default_factory=list)
    premises: list[dict[str, Any]] = msgspec.field(
        default_factory=list
    )  # what must have been seen (judging/premises.py)
    pace: dict[str, float] = msgspec.field(default_factory=dict)  # as the system states it
    work: WorkFigures | None = None
    faults_may_miss: bool = False  # drawn ones: one that comes late, or never, takes nothing from what the others show
    died: dict[str, int] | None = None  # by process: how often it ended by itself; None: not counted
    deaths: list[DeathRecord] = msgspec.field(default_factory=list)
    load: LoadFigures | None = None
    steps: list[Turn] = msgspec.field(default_factory=list)  # the story of a simulated world
    finished: bool = False
    sizes: dict[str, int] = msgspec.field(default_factory=dict)  # bytes of each history file when it had finished


class LiveFault(msgspec.Struct, frozen=True):
    """A strike so far: `waiting`, `begun`, `bitten`, `lifted`, `healed`, or `failed`."""

    fault: str
    target: str
    stage: str


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """The content of live.json: a load test so far. What the system cannot say is None.

    `t_ns`: when the figures were asked for, since the run began; reading them took `read_s`. `missing`: acknowledged, and in no list of
    the system's account. `duplicates`: accepted effects beyond one a task and step. `over`: nothing will change any more.
    """

    t_ns: int
    read_s: float
    planned: int
    submitted: int
    acknowledged: int
    refused: int
    unknown: int
    effects: int
    duplicates: int
    repeats: int
    done: int | None = None
    dead: int | None = None
    pending: int | None = None
    missing: int | None = None
    faults: tuple[LiveFault, ...] = ()
    over: bool = False

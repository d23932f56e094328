"""Facts of a run beside its history: versions, plan, faults, load figures. The content of run.json and live.json."""

from typing import Any

import msgspec

_EXCUSES = {"process_killed": "crash", "process_paused": "pause"}
"""The repeats that a fault explains if its record does not state them: records of earlier versions, and call faults."""


class FaultRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault of the plan as it was carried out; times in ns since the run began, None if the fault did not reach that point.

    `roles`: those of the struck process, if it belongs to the system. `excuses`: the repeats that the fault explains
    (`chaos.faults.Excuse`); empty if not stated. `waiting`: acknowledged tasks without an effect when it bit. `answered`,
    `attempts`: submissions answered and attempts begun between its begin and its heal, `under_way`: submissions that had no
    answer yet when it healed; None if it did not heal.
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
    waiting: int | None = None
    answered: int | None = None
    under_way: int | None = None
    attempts: int | None = None

    @property
    def crashed_process(self) -> bool:
        """Whether it ended its process, or a child of it: the lab has recorded a crash in its name."""
        return self._excuses == "crash"

    @property
    def stopped_process(self) -> bool:
        """Whether its process was dead or paused during the fault."""
        return self._excuses in ("crash", "pause")

    @property
    def _excuses(self) -> str:
        return self.excuses or _EXCUSES.get(self.fault, "")


class Percentiles(msgspec.Struct, frozen=True):
    """Percentiles of durations, in seconds, by nearest rank (no interpolation), and the maximum."""

    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


class LoadFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a load test. Counts are of tasks; times count from the instant at which a submission was due, not sent.

    `answers`: until the answer (without an answer, until the generator gave up, so that a frozen system shows). `effects`: until the
    first accepted effect, of the tasks that had one; `without_effect`: acknowledged tasks that had none. `backlog`: tasks sent, not
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
    """Numbers of tasks after the warm-up: submitted, acknowledged, and acknowledged and ended by the end of the drain."""

    submitted: int
    acknowledged: int
    ended: int


class DeathRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A process that ended by itself: how often; for the last time also how, the name of its log, and the last lines of the log."""

    process: str
    times: int
    how: str
    log: str = ""
    last_lines: tuple[str, ...] = ()


class Setting(msgspec.Struct, frozen=True):
    """A setting of an adapted app. `source`: where it was read; `means`: what follows; `scaled`: its value in the lab, if it differs."""

    name: str
    value: str
    source: str
    means: str
    scaled: str | None = None


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
    tested_by: dict[str, list[str]] = msgspec.field(
        default_factory=dict
    )  # by claim: the scenarios in which it is at stake
    policy: dict[str, object] = msgspec.field(default_factory=dict)
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    settings: list[Setting] = msgspec.field(default_factory=list)  # of an adapted app
    documented: dict[str, str] = msgspec.field(
        default_factory=dict
    )  # by promise: what a library says of not keeping it
    commit: str = ""
    started_at: str = ""
    startup_s: dict[str, float] = msgspec.field(default_factory=dict)
    took_s: float | None = None
    phases_ns: dict[str, int] = msgspec.field(default_factory=dict)
    strikes: list[FaultRecord] = msgspec.field(default_factory=list)
    problems: list[str] = msgspec.field(default_factory=list)
    premises: list[dict[str, Any]] = msgspec.field(default_factory=list)  # as of judging/premises.py
    pace: dict[str, float] = msgspec.field(default_factory=dict)  # as the system states it
    work: WorkFigures | None = None
    faults_may_miss: bool = False  # drawn faults: one that begins late or never does not make the run unknown
    died: dict[str, int] | None = None  # by process: how often it ended by itself; None: not counted
    killed_by_task: dict[str, int] = msgspec.field(
        default_factory=dict
    )  # by process: deaths that tasks were planned to cause
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
    """The content of live.json: a load test so far. A figure that the system does not report is None.

    `t_ns`: when the figures were asked for, since the run began; reading them took `read_s`. `missing`: acknowledged, and in no list of
    the system's account. `duplicates`: accepted effects beyond one for each task and step. `over`: the figures are final.
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

"""The run directory: all that a run leaves, and all that judges and reports read.

run.json                 what was run: scenario, system, seed, versions, fault plan with actual times, how to repeat it
history.PROCESS.jsonl    what each process saw, one file a process, one event a line
verdicts.json            what the judges said (written again by every `tasklab check`)
report.html              the same for a person
live.json                of a load test: the figures so far, replaced once a second while it goes on
logs/                    standard output and error of every process of the system under test
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from scenarios.errors import RunExists
from scenarios.history import Malformed, Recorded
from scenarios.reading import read_files

__all__ = [
    "LIVE_FILE",
    "LOGS",
    "REPORT_FILE",
    "RUN_FILE",
    "VERDICTS_FILE",
    "Live",
    "LiveFault",
    "LoadFigures",
    "Malformed",
    "Percentiles",
    "Recorded",
    "RunDirectory",
    "RunFacts",
    "Strike",
    "read_files",
    "write_whole",
]

RUN_FILE = "run.json"
VERDICTS_FILE = "verdicts.json"
REPORT_FILE = "report.html"
LIVE_FILE = "live.json"
LOGS = "logs"


class Strike(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault of the plan as it really went; times in ns since the run began, None where it never got that far.

    `roles`: those of the struck process, where it is one of the system's.
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
    policy: dict[str, object] = msgspec.field(default_factory=dict)
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    commit: str = ""
    started_at: str = ""
    startup_s: dict[str, float] = msgspec.field(default_factory=dict)
    took_s: float | None = None
    phases_ns: dict[str, int] = msgspec.field(default_factory=dict)
    strikes: list[Strike] = msgspec.field(default_factory=list)
    problems: list[str] = msgspec.field(default_factory=list)
    faults_may_miss: bool = False  # drawn ones: one that comes late, or never, takes nothing from what the others show
    died: dict[str, int] | None = None  # by process: how often it ended by itself; None: nobody counted
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


class RunDirectory:
    """The files of one run at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def logs(self) -> Path:
        """Where processes write what they print."""
        return self.path / LOGS

    def create(self) -> None:
        """Make the directory.

        Raises:
            RunExists: it holds a run already.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / RUN_FILE).exists():
            raise RunExists(self.path)
        self.logs.mkdir(exist_ok=True)

    def write_facts(self, facts: RunFacts) -> None:
        """Replace run.json, whole or not at all."""
        write_whole(self.path / RUN_FILE, _pretty(facts))

    def seal(self, facts: RunFacts) -> None:
        """The run has come to its end: what was recorded is all of it."""
        facts.sizes = self.history_sizes()
        facts.finished = True
        self.write_facts(facts)

    def history_sizes(self) -> dict[str, int]:
        """Bytes of each history file, by its name."""
        return {file.name: file.stat().st_size for file in self.history_files()}

    def read_facts(self) -> RunFacts:
        """What was run.

        Raises:
            FileNotFoundError: no run here.
            msgspec.DecodeError: run.json is not what the lab wrote.
        """
        return msgspec.json.decode((self.path / RUN_FILE).read_bytes(), type=RunFacts)

    def read_history(self) -> Recorded:
        """Every event of every history file of the run."""
        return read_files(self.history_files())

    def history_files(self) -> list[Path]:
        """The history of every process, in a fixed order; packed ones, too. Regular files only: reading a pipe might never end."""
        found = [*self.path.glob("history.*.jsonl"), *self.path.glob("history.*.jsonl.gz")]
        return sorted(file for file in found if file.is_file())

    def write_verdicts(self, verdicts: Mapping[str, object]) -> None:
        """Replace verdicts.json, whole or not at all."""
        write_whole(self.path / VERDICTS_FILE, _pretty(verdicts))


def write_whole(file: Path, content: bytes) -> None:
    """Replace a file so that a reader, or a crash, never sees half of it."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(file)


def _pretty(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"

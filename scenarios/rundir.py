"""The run directory: all that a run leaves, and all that judges and reports read.

run.json                 what was run: scenario, system, seed, versions, fault plan with actual times, how to repeat it
history.PROCESS.jsonl    what each process saw, one file a process, one event a line
verdicts.json            what the judges said (written again by every `tasklab check`)
report.html              the same for a person
logs/                    standard output and error of every process of the system under test
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from scenarios.history import Event, History, MalformedEvent, decode_event

RUN_FILE = "run.json"
VERDICTS_FILE = "verdicts.json"
REPORT_FILE = "report.html"
LOGS = "logs"


class Strike(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault of the plan as it really went; times in ns since the run began, None where it never got that far."""

    fault: str
    target: str
    when: str
    begun_ns: int | None = None
    bit_ns: int | None = None
    ended_ns: int | None = None
    healed_ns: int | None = None
    evidence: str = ""
    problem: str = ""


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
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line of a history that is no event, and why."""

    file: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.why}"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was read of a history: the events, what was no event, and how many torn last lines were passed over."""

    history: History
    malformed: tuple[Malformed, ...] = ()
    torn: int = 0
    sources: tuple[str, ...] = field(default=())


class RunDirectory:
    """The files of one run at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def logs(self) -> Path:
        """Where processes write what they print."""
        return self.path / LOGS

    def create(self) -> None:
        """Make the directory; refuses one that already holds a run."""
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / RUN_FILE).exists():
            raise FileExistsError(f"{self.path} already holds a run; choose another --out")
        self.logs.mkdir(exist_ok=True)

    def write_facts(self, facts: RunFacts) -> None:
        """Replace run.json, whole or not at all."""
        write_whole(self.path / RUN_FILE, _pretty(facts))

    def read_facts(self) -> RunFacts:
        """What was run.

        Raises:
            FileNotFoundError: no run here.
            msgspec.DecodeError: run.json is not what the lab wrote.
        """
        return msgspec.json.decode((self.path / RUN_FILE).read_bytes(), type=RunFacts)

    def read_history(self) -> Recorded:
        """Every event of every history file of the run."""
        return read_files(sorted(self.path.glob("history.*.jsonl")))


def read_files(files: Sequence[Path]) -> Recorded:
    """The events of JSON-lines files, merged by time. A torn last line (the writer was killed) is counted, not an error."""
    events: list[Event] = []
    malformed: list[Malformed] = []
    torn = 0
    for file in files:
        for number, line, is_last_without_end in _lines(file):
            try:
                events.append(decode_event(line))
            except MalformedEvent as error:
                if is_last_without_end:
                    torn += 1
                else:
                    malformed.append(Malformed(file.name, number, str(error)))
    return Recorded(History(events), tuple(malformed), torn, tuple(file.name for file in files))


def _lines(file: Path) -> Iterator[tuple[int, bytes, bool]]:
    """(line number from 1, content, whether it is a last line that lacks its end)."""
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            content = line.rstrip(b"\r\n")
            if content:
                yield number, content, not line.endswith(b"\n")


def write_whole(file: Path, content: bytes) -> None:
    """Replace a file so that a reader, or a crash, never sees half of it."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(file)


def _pretty(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"

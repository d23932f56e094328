"""The run directory: the output of a run, and the input of checkers and reports.

run.json                 facts of the run: scenario, system, seed, versions, fault plan with actual times, how to repeat it
history.PROCESS.jsonl    the events of each process, one file for each, one event a line
verdicts.json            the judgement (written again by every `tasklab check`)
report.html              the judgement for people
open_tasks.json          where the open tasks were at the end, if there were any: messages, keys and rows that name them
live.json                of a load test: the figures so far, replaced once a second
logs/                    standard output and error of every process of the system under test
"""

import os
from pathlib import Path

import msgspec

from scenarios.errors import RunExists, UnreadableVerdicts
from scenarios.judging.judgement_record import JudgementRecord
from scenarios.record.history import Recorded
from scenarios.record.run_facts import RunFacts
from scenarios.stored.open_tasks import OpenTasks
from scenarios.stored.reading import read_files

RUN_FILE = "run.json"
VERDICTS_FILE = "verdicts.json"
REPORT_FILE = "report.html"
LIVE_FILE = "live.json"
OPEN_TASKS_FILE = "open_tasks.json"
LOGS = "logs"


class RunDirectory:
    """The files of one run at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def logs(self) -> Path:
        """Directory for the output of processes."""
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
        """Mark the run as finished and its history as complete, by writing the sizes of its files."""
        facts.sizes = self.history_sizes()
        facts.finished = True
        self.write_facts(facts)

    def history_sizes(self) -> dict[str, int]:
        """Bytes of each history file, by its name."""
        return {file.name: file.stat().st_size for file in self.history_files()}

    def read_facts(self) -> RunFacts:
        """The content of run.json.

        Raises:
            FileNotFoundError: there is no run.json.
            msgspec.DecodeError: run.json is damaged, or another program wrote it.
        """
        return msgspec.json.decode((self.path / RUN_FILE).read_bytes(), type=RunFacts)

    def read_history(self) -> Recorded:
        """Every event of every history file of the run."""
        return read_files(self.history_files())

    def history_files(self) -> list[Path]:
        """The history files, packed or not, in a fixed order. Regular files only: reading a pipe might never end."""
        found = [*self.path.glob("history.*.jsonl"), *self.path.glob("history.*.jsonl.gz")]
        return sorted(file for file in found if file.is_file())

    def write_verdicts(self, judgement: JudgementRecord) -> None:
        """Replace verdicts.json, whole or not at all."""
        write_whole(self.path / VERDICTS_FILE, _pretty(judgement))

    def write_open_tasks(self, found: OpenTasks) -> None:
        """Replace open_tasks.json, whole or not at all."""
        write_whole(self.path / OPEN_TASKS_FILE, _pretty(found))

    def read_open_tasks(self) -> OpenTasks | None:
        """Where the tasks are that had not ended; None: all had, or the file is damaged or of another version."""
        try:
            return msgspec.json.decode((self.path / OPEN_TASKS_FILE).read_bytes(), type=OpenTasks)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def read_verdicts(self) -> JudgementRecord | None:
        """The stored judgement; None: the run has not been judged.

        Raises:
            UnreadableVerdicts: verdicts.json is damaged, or another program wrote it.
        """
        try:
            return msgspec.json.decode((self.path / VERDICTS_FILE).read_bytes(), type=JudgementRecord)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnreadableVerdicts(f"{VERDICTS_FILE} cannot be read: {error}") from error


def runs_without_facts(path: Path) -> list[Path]:
    """Directories, up to two levels below this one, with a history but without run.json: damaged runs, which must be reported."""
    places = {file.parent for depth in ("", "*/", "*/*/") for file in path.glob(f"{depth}history.*.jsonl*")}
    return sorted(place for place in places if not (place / RUN_FILE).exists())


def write_whole(file: Path, content: bytes) -> None:
    """Replace a file atomically: readers see the old or the new content, also after a crash. On OSError the old one stays."""
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(file)
    except OSError:  # for example a full disk: leave no partial file
        partial.unlink(missing_ok=True)
        raise


def _pretty(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"

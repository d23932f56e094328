"""The input of a report, read from disk: facts, history and judgement of each run, as far as they exist."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scenarios.errors import UnreadableVerdicts, WrongUsage
from scenarios.judging.judgement_record import JudgementRecord
from scenarios.record.history import Recorded
from scenarios.record.run_facts import RunFacts
from scenarios.stored.open_tasks import OpenTasks
from scenarios.stored.rundir import RUN_FILE, RunDirectory


class NotARun(WrongUsage):
    """The path is neither a run directory nor a directory of runs; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run on disk. `judgement` is None if the run has not been judged; `unreadable`: the files that could not be read, and why.

    `logs`: the names of the files in its directory of logs.
    """

    path: Path
    facts: RunFacts
    recorded: Recorded
    judgement: JudgementRecord | None
    unreadable: tuple[str, ...] = ()
    open_tasks: OpenTasks | None = None
    logs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.path.resolve().name


def find_runs(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The run directories among `paths`; a directory of runs, or of directories of runs, stands for all of them.

    Raises:
        NotARun: one of them is neither.
    """
    return tuple(dict.fromkeys(run for path in paths for run in _runs_at(path)))


def _runs_at(path: Path) -> Iterable[Path]:
    if (path / RUN_FILE).is_file():
        return (path,)
    if not path.is_dir():
        raise NotARun(f"{path} is not a directory" if path.exists() else f"{path} does not exist")
    within = sorted(file.parent for depth in ("*", "*/*") for file in path.glob(f"{depth}/{RUN_FILE}"))
    if not within:
        raise NotARun(f"{path} holds no run: there is no {RUN_FILE} in it")
    return within


def read_run(path: Path) -> StoredRun:
    """All files of the run at `path`.

    Raises:
        NotARun: run.json is missing or is not what the lab writes.
    """
    directory = RunDirectory(path)
    try:
        facts = directory.read_facts()
    except FileNotFoundError as error:
        raise NotARun(f"{path} holds no run: there is no {RUN_FILE} in it") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotARun(f"{path / RUN_FILE} cannot be read: {error}") from error
    try:
        judgement, unreadable = directory.read_verdicts(), ()
    except UnreadableVerdicts as error:
        return StoredRun(path, facts, directory.read_history(), None, (str(error),))
    return StoredRun(
        path,
        facts,
        directory.read_history(),
        judgement,
        unreadable,
        open_tasks=directory.read_open_tasks(),
        logs=tuple(sorted(file.name for file in directory.logs.glob("*") if file.is_file())),
    )

"""`tasklab check` of a directory of runs: each run is judged and has a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from scenarios.errors import WrongUsage
from scenarios.judging.judge import Judgement
from scenarios.stored.judge_files import JudgeOptions, judge_path
from tasklab.exit_codes import EXIT_UNKNOWN, warn, worst
from tasklab.presentation.sentences import RULING_OF_EXIT, sentence_of
from tasklab.presentation.terminal import STYLE_OF_EXIT, console, print_json


@dataclass(frozen=True, slots=True)
class _Row:
    """One run. `judgement` None: it could not be judged, for the reason `why`."""

    directory: Path
    judgement: Judgement | None
    why: str

    @property
    def exit_code(self) -> int:
        """The exit code of this run."""
        return EXIT_UNKNOWN if self.judgement is None else self.judgement.exit_code

    def to_json(self) -> dict[str, object]:
        """For --json: the whole judgement."""
        result = {"why": self.why} if self.judgement is None else self.judgement.to_json()
        return {"directory": str(self.directory), **result, "exit_code": self.exit_code}


def check_runs(runs: Sequence[Path], options: JudgeOptions, *, as_json: bool) -> int:
    """Judge every run and print a row for each; returns the worst exit code."""
    rows = [_judged(run, options) for run in runs]
    code = worst(row.exit_code for row in rows)
    if as_json:
        print_json({"runs": [row.to_json() for row in rows], "exit_code": code})
        return code
    table = Table(box=None, pad_edge=False)
    for heading in ("run", "verdict", "why"):
        table.add_column(heading, justify="left", overflow="fold")
    for row in rows:
        ruling = Text(RULING_OF_EXIT[row.exit_code], STYLE_OF_EXIT[row.exit_code])
        table.add_row(str(row.directory), ruling, row.why)
    terminal = console()
    terminal.print(table)
    terminal.print("\n`tasklab check RUN` has the verdicts, the account and the stories of one")
    return code


def _judged(run: Path, options: JudgeOptions) -> _Row:
    try:
        judged = judge_path(run, options)
    except WrongUsage as error:  # a damaged run must not hide the others
        return _Row(run, None, f"unknown: {error}")
    if judged.not_written:
        warn(judged.not_written)
    return _Row(run, judged.judgement, sentence_of(judged.judgement))

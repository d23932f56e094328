"""The findings of `tasklab conform` on the terminal."""

from collections.abc import Sequence
from pathlib import Path

from tasklab.conforming.findings import Mark, WordFinding
from tasklab.presentation.terminal import console

STYLES = {Mark.OK: "green", Mark.MEND: "bold red", Mark.NOTE: "cyan", Mark.SKIPPED: "dim", Mark.UNKNOWN: "yellow"}


def print_findings(system: str, findings: Sequence[WordFinding], directory: Path | None) -> None:
    """A table of all words; then what to mend, a sentence each. `directory`: of the run, if there was one."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"conform: {system}", title_justify="left")
    for heading in ("word", "", "what was seen"):
        table.add_column(heading)
    for finding in findings:
        table.add_row(finding.word, Text(finding.mark, STYLES[finding.mark]), finding.said)
    console().print(table)
    wrong = [finding for finding in findings if finding.mark is Mark.MEND]
    for finding in wrong:
        console().print(f"to mend, {finding.word}: {finding.mend}")
    if directory is not None:
        console().print(f"record and logs: {directory}")
    if not wrong:
        console().print("nothing to mend")

"""`tasklab report`: run directories → one HTML file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.exit_codes import EXIT_USAGE, explained, fail
from tasklab.presentation.markdown import table_of_runs
from tasklab.presentation.terminal import harmless, print_json

if TYPE_CHECKING:
    from reports.build import Section


def report(
    run_directories: Annotated[
        list[Path],
        typer.Argument(metavar="RUNDIR…", help="Run directories; a directory of runs stands for all runs in it."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="The file to write. Default: report.html in the run, or for several runs in the directory that holds them.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print as JSON where the report was written, and the rulings in it.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the verdicts as a table in Markdown, for the summary of a CI job.")
    ] = False,
) -> None:
    """Write one self-contained HTML file about one or more runs; several runs are shown side by side, scenario by system.

    It reads only the files of the runs, so it also works for a run that was killed or never judged. Exit code 0 if the
    file is written, for any verdicts in it; 2 if a path holds no run or the file cannot be written.
    """
    # Imported here: `tasklab --help` should not wait for templates and decoders.
    from reports.build import render, sections_of
    from scenarios.stored.rundir import REPORT_FILE, write_whole

    with explained():
        sections = sections_of(run_directories)
        file = out or _place_of([section.run.path for section in sections]) / REPORT_FILE
        try:
            write_whole(file, render(sections).encode("utf-8", errors="replace"))
        except OSError as error:
            fail(f"{file} cannot be written: {error.strerror or error}", EXIT_USAGE)
    if as_json:
        _print_json(file, sections)
    elif markdown:
        typer.echo(table_of_runs(sections))
    else:
        for section in sections:
            typer.echo(harmless(f"{section.overall.ruling}: {section.overall.sentence}"))
        typer.echo(harmless(str(file)))


def _place_of(runs: Sequence[Path]) -> Path:
    """The run itself; for several the innermost directory that holds them all, or the current one if that would be the root."""
    if len(runs) == 1:
        return runs[0]
    common = Path(os.path.commonpath([run.resolve() for run in runs]))
    here = Path.cwd()
    if common == Path(common.anchor):
        return Path()
    return common.relative_to(here) if common.is_relative_to(here) else common


def _print_json(file: Path, sections: Sequence["Section"]) -> None:
    runs = [
        {
            "directory": str(section.run.path),
            "scenario": section.run.facts.scenario,
            "system": section.run.facts.system,
            "seed": section.run.facts.seed,
            "ruling": str(section.overall.ruling),
            "sentence": section.overall.sentence,
        }
        for section in sections
    ]
    print_json({"report": str(file), "runs": runs})

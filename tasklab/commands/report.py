"""`tasklab report`: run directories → one HTML file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.ending import EXIT_USAGE, explained, fail
from tasklab.presentation.terminal import harmless, print_json

if TYPE_CHECKING:
    from reports.build import Section


def report(
    run_directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNDIR…", help="Directories of runs; a directory that only holds runs stands for all of them."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Where to write; else report.html in the run, of several in the directory that holds them.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say what was written as JSON.")] = False,
) -> None:
    """Make one self-contained HTML file of one or more runs; several are set side by side, scenario by system.

    It reads only what the runs left on disk, so it also works for a run that was killed half-way or never judged. Exit code 0 when the
    file is written, whatever the verdicts in it; 2 when a path holds no run or the file cannot be written.
    """
    # Here and not above: templates and decoders are for this command alone, and `tasklab --help` should not wait for them.
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
    else:
        for section in sections:
            typer.echo(harmless(f"{section.overall.ruling}: {section.overall.sentence}"))
        typer.echo(file)


def _place_of(runs: Sequence[Path]) -> Path:
    """The run; of several the innermost directory that holds them all, or this one where they have none but the root in common."""
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

"""`tasklab report`: run directories → one HTML file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.output import EXIT_USAGE, explained, fail, print_json

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
            "--out", metavar="FILE", help="Where to write; else report.html, in the run or (of several runs) here."
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
    from scenarios.rundir import REPORT_FILE, write_whole

    with explained():
        sections = sections_of(run_directories)
        file = out or (sections[0].run.path if len(sections) == 1 else Path()) / REPORT_FILE
        try:
            write_whole(file, render(sections).encode("utf-8", errors="replace"))
        except OSError as error:
            fail(f"{file} cannot be written: {error.strerror or error}", EXIT_USAGE)
    if as_json:
        _print_json(file, sections)
    else:
        for section in sections:
            typer.echo(f"{section.overall.ruling}: {section.overall.sentence}")
        typer.echo(file)


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

"""`tasklab report`: run directories → one HTML file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.output import EXIT_USAGE

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
    from reports.reading import NotARun
    from scenarios.rundir import REPORT_FILE, write_whole

    try:
        sections = sections_of(run_directories)
        file = out or (sections[0].run.path if len(sections) == 1 else Path()) / REPORT_FILE
        write_whole(file, render(sections).encode("utf-8", errors="replace"))
    except (NotARun, OSError) as error:
        typer.echo(f"tasklab report: {error}", err=True)
        raise typer.Exit(EXIT_USAGE) from error
    typer.echo(_as_json(file, sections) if as_json else _as_text(file, sections))


def _as_text(file: Path, sections: Sequence["Section"]) -> str:
    said = [f"{section.overall.ruling}: {section.overall.sentence}" for section in sections]
    return "\n".join([*said, str(file)])


def _as_json(file: Path, sections: Sequence["Section"]) -> str:
    import msgspec

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
    return msgspec.json.format(msgspec.json.encode({"report": str(file), "runs": runs}), indent=2).decode()

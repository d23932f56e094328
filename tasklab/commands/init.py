"""`tasklab init`: writes a first `tasklab.toml`, and a first test, for the app that it finds in the sources."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.exit_codes import explained
from tasklab.presentation.terminal import console, harmless, print_json
from tasklab.running.first_files import TEST, TEST_FILE, configuration_of, template

if TYPE_CHECKING:
    from scenarios.adapters.seeking.candidates import Candidate
    from scenarios.adapters.seeking.sources import Project

CANDIDATES_SHOWN_MAX = 20


def init(
    celery: Annotated[str | None, typer.Option(metavar="MODULE:APP", help="Your Celery app.")] = None,
    dramatiq: Annotated[str | None, typer.Option(metavar="MODULE:ACTOR", help="Your actor of Dramatiq.")] = None,
    rq: Annotated[str | None, typer.Option(metavar="MODULE:FUNCTION", help="Your function for RQ.")] = None,
    procrastinate: Annotated[str | None, typer.Option(metavar="MODULE:APP", help="Your Procrastinate app.")] = None,
    task: Annotated[str | None, typer.Option(metavar="NAME", help="The name of the task in the app.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One document on standard output.")] = False,
) -> None:
    """Write a first tasklab.toml and tests/test_tasklab.py for the app of Celery, Dramatiq, RQ or Procrastinate in this directory.

    The sources are read, not imported. Of several tasks the options name one; without any app a template is written. Files that
    are there already stay as they are.

    Example: tasklab init --celery shop.tasks:app --task shop.tasks.charge
    """
    with explained():
        from scenarios.adapters.seeking.sources import read_project

        stated = {"celery": celery, "dramatiq": dramatiq, "rq": rq, "procrastinate": procrastinate}
        directory = Path.cwd()
        _check_free(directory, force=force)
        project = read_project(directory)
        chosen = _chosen(project, {library: place for library, place in stated.items() if place is not None}, task)
        libraries = _libraries(project)
        files = {Path("tasklab.toml"): template(libraries) if chosen is None else configuration_of(chosen, directory)}
        files |= {} if chosen is None else {TEST_FILE: TEST}
        written, kept = _write(directory, files, force=force)
    document = {
        "chosen": None if chosen is None else chosen.options(),
        "written": written,
        "kept": kept,
        "unread": [str(file) for file in project.unread],
        "next": None if chosen is None else "tasklab facts",
    }
    if as_json:
        print_json(document)
        return
    for line in _sentences(chosen, libraries, written, kept, project.unread):
        console().print(harmless(line))


def _check_free(directory: Path, *, force: bool) -> None:
    """Raise WrongUsage if a configuration is there already."""
    from scenarios.configuration.file import OWN_FILE, find_file
    from scenarios.errors import WrongUsage

    found = find_file(directory)
    if found is None or found.parent != directory.resolve():
        return
    if found.name != OWN_FILE:
        raise WrongUsage(f"{found.name} has a table [tool.tasklab] already; nothing was written")
    if not force:
        raise WrongUsage(f"{OWN_FILE} is there already, and stays as it is; --force replaces it")


def _chosen(project: "Project", named: Mapping[str, str], task: str | None) -> "Candidate | None":
    """The only candidate that fits the options; None: the project has none.

    Raises:
        WrongUsage: several fit, or the options name something that was not found in the sources.
    """
    from scenarios.adapters.seeking.candidates import candidates_of
    from scenarios.errors import WrongUsage, nearest

    if len(named) > 1:
        raise WrongUsage(f"{' and '.join(f'--{library}' for library in named)} cannot be combined")
    found = candidates_of(project)
    fitting = [one for one in found if named.get(one.library, None if named else one.place) == one.place]
    if task is not None:
        fitting = [one for one in fitting if one.task == task]
    if len(fitting) > 1:
        raise WrongUsage(_choice(fitting))
    if not fitting and (named or task is not None):
        wanted = [f"--{library} {place}" for library, place in named.items()] + ([f"--task {task}"] if task else [])
        similar = nearest(" ".join(wanted), [one.options() for one in found])
        hint = (
            f"did you mean {' or '.join(similar)}?"
            if similar
            else "without options, `tasklab init` lists what it finds"
        )
        raise WrongUsage(f"these sources have no {' '.join(wanted)}; {hint}")
    return fitting[0] if fitting else None


def _choice(candidates: "Sequence[Candidate]") -> str:
    shown = [f"  tasklab init {one.options()}    # {one.file}:{one.line}" for one in candidates[:CANDIDATES_SHOWN_MAX]]
    more = len(candidates) - len(shown)
    return "\n".join(
        ["these sources have several tasks, and nothing was written; name one of them:", *shown]
        + ([f"  and {more} more"] if more else [])
    )


def _libraries(project: "Project") -> list[str]:
    from scenarios.adapters.adapted import LIBRARIES

    return [library for library in LIBRARIES if project.depends_on(library)]


def _write(directory: Path, files: Mapping[Path, str], *, force: bool) -> tuple[list[str], list[str]]:
    """The files that were written, and those that were there already; raises WrongUsage where one cannot be written."""
    from scenarios.errors import WrongUsage

    for place in (directory / path for path in files):
        if place.parent.exists() and not place.parent.is_dir():
            raise WrongUsage(f"{place.parent} is no directory; nothing was written")
    written, kept = [], []
    for path, text in files.items():
        file = directory / path
        if (file.exists() or file.is_symlink()) and not force:
            kept.append(str(path))
            continue
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        written.append(str(path))
    return written, kept


def _sentences(
    chosen: "Candidate | None",
    libraries: Sequence[str],
    written: Sequence[str],
    kept: Sequence[str],
    unread: Sequence[Path],
) -> list[str]:
    """What was found and done, and what comes next."""
    lines = [] if chosen is None else [f"found: {chosen.options()} ({chosen.file}:{chosen.line})"]
    lines += [f"left out, because they are no Python that can be read: {', '.join(map(str, unread))}"] if unread else []
    lines += [f"wrote {path}" for path in written]
    lines += [f"{path} is there already, and stays as it is; --force replaces it" for path in kept]
    if chosen is None:
        among = f", although {' and '.join(libraries)} is among the dependencies" if libraries else ""
        lines.append(f"no app of Celery, Dramatiq, RQ or Procrastinate was found in these sources{among}")
        return [*lines, "next: name your app in tasklab.toml, or describe your system there; then run: tasklab run"]
    if chosen.library in ("celery", "procrastinate") and chosen.task is None:
        lines.append(f"no task of {chosen.place} was found: add its name to tasklab.toml, task = …")
    return [*lines, "next: tasklab facts    # what the lab reads of the app; nothing is started", "then: tasklab run"]

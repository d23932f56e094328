"""Canaries: secret words in the payloads of a run, and the search for them in the files of the run (docs/adr/0004)."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from scenarios.contract.system import Submit
from scenarios.stored.rundir import RunDirectory

FIELD = "secret"
"""The field of a payload that holds its secret."""
_SECRET = re.compile(rb"planted-[0-9a-f]{32}")


def secret_of(task: str) -> str:
    """The canary of a task: a word that only the task's handler should see."""
    return f"planted-{hashlib.sha256(task.encode()).hexdigest()[:32]}"


def with_secret(submit: Submit) -> Submit:
    """The same submission, with a canary in its payload."""
    return replace(submit, payload={**submit.payload, FIELD: secret_of(submit.task)})


@dataclass(frozen=True, slots=True)
class Search:
    """A file that was searched, and the tasks whose canaries were found in it, sorted."""

    target: str
    found: tuple[str, ...]


def search(directory: RunDirectory, tasks: Iterable[str]) -> Iterator[Search]:
    """Search the run's logs and history (answers, audit rows, dead letters) for the canaries of these tasks.

    Reports are made from these files only. Task rows hold payloads by design and are not searched.
    """
    names = {secret_of(task).encode(): task for task in tasks}
    logs = sorted(file for file in directory.logs.iterdir() if file.is_file())
    for file in [*logs, *directory.history_files()]:
        found = {names[secret] for secret in _secrets_in(file) if secret in names}
        yield Search(str(file.relative_to(directory.path)), tuple(sorted(found)))


def _secrets_in(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        for line in stream:
            yield from _SECRET.findall(line)

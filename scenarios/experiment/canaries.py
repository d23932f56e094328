"""Canaries: secret words in the payloads of a run, and the search for them in what the run leaves behind (docs/adr/0004)."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from scenarios.contract.system import Submit
from scenarios.stored.rundir import RunDirectory

FIELD = "secret"
"""Where a payload carries its secret."""
_SECRET = re.compile(rb"planted-[0-9a-f]{32}")


def secret_of(task: str) -> str:
    """A word that only the handler of this task should see; no system writes it of its own accord."""
    return f"planted-{hashlib.sha256(task.encode()).hexdigest()[:32]}"


def with_secret(submit: Submit) -> Submit:
    """The same submission, its payload with a secret in it."""
    return replace(submit, payload={**submit.payload, FIELD: secret_of(submit.task)})


@dataclass(frozen=True, slots=True)
class Search:
    """A place that was searched, and the tasks whose secrets came to light there, sorted."""

    target: str
    found: tuple[str, ...]


def search(directory: RunDirectory, tasks: Iterable[str]) -> Iterator[Search]:
    """Look for the secrets of these tasks in the run's logs, and in its history: answers, audit rows and dead letters with their words.

    Reports are made of nothing else. Rows of tasks hold payloads by design, and are not searched.
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

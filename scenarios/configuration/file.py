"""Finds and parses the configuration: `tasklab.toml`, or the table `[tool.tasklab]` of `pyproject.toml`."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scenarios.configuration.table import Table
from scenarios.errors import MalformedConfiguration

OWN_FILE = "tasklab.toml"
SHARED_FILE = "pyproject.toml"
REPOSITORY_MARKS = (".git", ".hg")


def find_file(directory: Path) -> Path | None:
    """The file of this directory, or of the nearest parent up to the root of the repository; outside of a repository no parent is read.

    Raises:
        MalformedConfiguration: a directory has both files, or pyproject.toml is not valid.
    """
    for place in _searched(directory.resolve()):
        own, shared = place / OWN_FILE, place / SHARED_FILE
        has_shared = shared.is_file() and "tasklab" in _parsed(shared).get("tool", {})
        if own.is_file() and has_shared:
            raise MalformedConfiguration(
                str(place), f"{OWN_FILE} and [tool.tasklab] of {SHARED_FILE} are both here; keep one of them"
            )
        if own.is_file() or has_shared:
            return own if own.is_file() else shared
    return None


def read_table(file: Path) -> Table:
    """The table of that file.

    Raises:
        MalformedConfiguration: there is no such file, it is not TOML, or a pyproject.toml without [tool.tasklab].
    """
    parsed = _parsed(file)
    if file.name != SHARED_FILE:
        return Table(file.name, "", parsed)
    outer = Table(file.name, "", parsed).table("tool")
    if "tasklab" not in outer.values:
        raise MalformedConfiguration(file.name, "it has no table [tool.tasklab]")
    return outer.table("tasklab")


def _searched(directory: Path) -> Iterator[Path]:
    places = [directory, *directory.parents]
    roots = [number for number, place in enumerate(places) if any((place / mark).exists() for mark in REPOSITORY_MARKS)]
    yield from places[: roots[0] + 1] if roots else places[:1]


def _parsed(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise MalformedConfiguration(str(file), f"it cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedConfiguration(
            str(file), f"it is not valid TOML: {error}; --no-config leaves it aside"
        ) from error

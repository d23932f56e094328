"""Checks of the programs that tasklab.toml names: can they be started, and can their texts be filled?"""

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from chaos.services.placeholders import error_of
from scenarios.configuration.table import Table


def check_placeholders(table: Table, texts: Mapping[str, Collection[str]], known: Collection[str]) -> None:
    """Raise MalformedConfiguration for the first text, of these by key, that cannot be filled."""
    for key, values in texts.items():
        for text in values:
            if why := error_of(text, known):
                raise table.refused(f'{key}: "{text}"', why)


def check_program(
    table: Table, key: str, argv: Sequence[str], cwd: str, env: Mapping[str, str], directory: Path
) -> None:
    """Raise MalformedConfiguration if the program of `argv` cannot be started in `cwd`, from `directory`.

    A program or directory with a placeholder, or with a PATH of its own, is known only in a run.
    """
    if "{" in argv[0] + cwd or "PATH" in env:
        return
    place = directory / cwd
    if not place.is_dir():
        raise table.refused(f'cwd = "{cwd}"', f"there is no directory {place}")
    if shutil.which(str(place / argv[0]) if "/" in argv[0] else argv[0]) is None:
        where = f" in {place}" if "/" in argv[0] else ""
        raise table.refused(f"{key} = {list(argv)}", f"{argv[0]} is not a program that can be started{where}")

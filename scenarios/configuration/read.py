"""Reads a configuration file: options of the command line by their names, or the description of a system. Starts nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.environments.catalogue import EnvironmentName
from scenarios.adapters.adapted import LIBRARIES
from scenarios.configuration.description import (
    COUNT_MAX,
    DESCRIPTION_KEYS,
    SystemDescription,
    read_description,
)
from scenarios.configuration.file import find_file, read_table
from scenarios.configuration.table import FLAG, SECONDS, TEXT, TEXTS, Table, ValueKind, one_of, whole

OPTIONS: Mapping[str, ValueKind[Any]] = {
    "system": TEXT,
    **dict.fromkeys(LIBRARIES, TEXT),
    "task": TEXT,
    "workers": whole(1, COUNT_MAX),
    "worker": TEXT,
    "claims": TEXTS,
    "unscaled": FLAG,
    "keep_body": FLAG,
    "arguments": TEXT,
    "python": TEXT,
    "plugin_timeout": SECONDS,
}
"""The keys that mean the same as the options of `tasklab run` with their names."""
SHARED_KEYS = ("claims", "plugin_timeout")
"""Those of them that a description may have as well."""
RUN_KEYS: Mapping[str, ValueKind[Any]] = {
    "scenarios": TEXTS,
    "environment": one_of([name.value for name in EnvironmentName]),
}
KEYS = (*RUN_KEYS, *OPTIONS, *(key for key in DESCRIPTION_KEYS if key not in OPTIONS))


@dataclass(frozen=True, slots=True)
class Configuration:
    """The content of a file. `scenarios`, `environment`: what a command runs that names none.

    `options`: by the name of an option of the command line, its value. `described`: whether the file describes a system.
    """

    file: Path
    table: Table
    scenarios: tuple[str, ...]
    environment: EnvironmentName | None
    options: Mapping[str, Any]
    described: bool

    @property
    def directory(self) -> Path:
        """Where the file is: what it names is found from there."""
        return self.file.parent

    def description(self, claims: tuple[str, ...] | None) -> SystemDescription:
        """The system that it describes; `claims` replace those of the file.

        Raises:
            MalformedConfiguration: a value of the description is missing or invalid.
        """
        return read_description(self.table, self.directory, claims)


def find_configuration(directory: Path) -> Configuration | None:
    """The configuration that applies in this directory, or None; raises as `read_configuration`."""
    file = find_file(directory)
    return None if file is None else read_configuration(file)


def read_configuration(file: Path) -> Configuration:
    """The configuration of that file.

    Raises:
        MalformedConfiguration: it cannot be read, has an unknown key, or a key has an invalid value.
    """
    file = file.resolve()
    table = read_table(file)
    table.only(KEYS)
    run = {key: table.read(key, kind) for key, kind in RUN_KEYS.items()}
    options: dict[str, Any] = {key: table.read(key, kind) for key, kind in OPTIONS.items() if key in table.values}
    describing = [key for key in DESCRIPTION_KEYS if key in table.values and key not in SHARED_KEYS]
    if naming := [key for key in options if describing and key not in SHARED_KEYS]:
        raise table.refused(
            f"{naming[0]} and {describing[0]}", "a file names an app or plug-in, or it describes a system, not both"
        )
    if "python" in options and "/" in options["python"]:
        options["python"] = str(file.parent / options["python"])
    if "claims" in options:
        options["claims"] = tuple(options["claims"])
    return Configuration(
        file,
        table,
        tuple(run["scenarios"] or ()),
        next((name for name in EnvironmentName if name.value == run["environment"]), None),
        options,
        bool(describing),
    )

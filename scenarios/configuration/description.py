"""Reads the description of a system from tasklab.toml: its statements, its client command, its processes. Starts nothing."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from chaos.services.declared.program import ServiceProgram
from chaos.services.placeholders import known_placeholders
from scenarios.configuration.programs import check_placeholders, check_program
from scenarios.configuration.services import read_services
from scenarios.configuration.table import (
    COMMAND,
    FLAG,
    TABLE,
    TEXT,
    TEXT_TABLE,
    TEXTS,
    TEXTS_TABLE,
    Table,
    ValueKind,
    whole,
)
from scenarios.judging.guarantees import Guarantee
from scenarios.plugin.protocol import VERSION, Description, StatedProcess
from scenarios.plugin.remote_system import POWERS
from scenarios.plugin.statements import SystemStatement, checked, checked_processes

STATEMENTS: Mapping[str, ValueKind[Any]] = {
    "name": TEXT,
    "summary": TEXT,
    "claims": TEXTS,
    "needs": TEXTS,
    "capabilities": TEXTS,
    "pace": TABLE,
    "policy": TABLE,
    "reservations": TEXTS_TABLE,
    "versions": TEXT_TABLE,
    "powers": TEXTS,
}
"""The keys that a client process would otherwise state by `describe`."""
DESCRIPTION_KEYS = (*STATEMENTS, "client", "processes", "services")
OF_THE_LAB = "TASKLAB_"
"""How the names of the variables begin by which workers find the lab."""
PROCESS_KEYS = ("argv", "count", "role", "also", "env", "cwd", "runs_once", "stop_signal")
CLAIMS = (
    Guarantee.NO_LOST_TASK,
    Guarantee.NO_STUCK_TASK,
    Guarantee.NO_PHANTOM_TASK,
    Guarantee.DUPLICATES_EXPLAINED,
)
"""The promises of a system that states none: what is expected of every task system."""
COUNT_MAX = 50
PROCESS = "process"
"""The placeholder for the name of the process itself."""


@dataclass(frozen=True, slots=True)
class SystemDescription:
    """A described system. `processes`: their texts still hold placeholders. `directory`: where the client process and, by default, the
    system's processes start: that of the file."""

    statement: SystemStatement
    client: tuple[str, ...]
    processes: tuple[StatedProcess, ...]
    services: tuple[ServiceProgram, ...]
    directory: Path


def read_description(table: Table, directory: Path, claims: Collection[str] | None = None) -> SystemDescription:
    """The system that the file describes; `claims` replace those of the file.

    Raises:
        MalformedConfiguration: a value is missing or invalid.
    """
    statement = _statement(table, claims)
    client = table.need("client", COMMAND)
    check_program(table, "client", client, "", {}, directory)
    services = read_services(table, directory, statement.needs)
    own = {service.name: service.ports for service in services}
    known = (*known_placeholders(statement.needs, own), PROCESS)
    processes = tuple(
        process
        for name, stated in table.tables("processes").items()
        for process in _processes(name, stated, known, directory)
    )
    if not processes:
        raise table.refused("processes", "it is missing; it must hold a table for each process, [processes.worker]")
    with table.at("processes"):
        checked_processes(statement.name, processes)  # two names that a count has made alike
    return SystemDescription(statement, tuple(client), processes, services, directory)


def _statement(table: Table, claims: Collection[str] | None) -> SystemStatement:
    """The statement, each key checked by itself, so that the error names it."""
    stated: dict[str, Any] = {}
    for key, kind in STATEMENTS.items():
        value = table.need(key, kind) if key == "name" else table.read(key, kind)
        if value is not None:
            stated[key] = value
            with table.at(key):
                checked(Description(protocol=VERSION, **{"name": stated["name"], key: value}))
    for power in stated.get("powers", ()):
        if power not in POWERS or power == "embedded_processes":
            answered = ", ".join(name for name in POWERS if name != "embedded_processes")
            raise table.refused(f'powers: "{power}"', f"a power is one of {answered}")
    stated["claims"] = claims or stated.get("claims") or [claim.value for claim in CLAIMS]
    with table.at("claims"):
        return checked(Description(protocol=VERSION, **stated))


def _processes(name: str, table: Table, known: Collection[str], directory: Path) -> list[StatedProcess]:
    """The processes of one table: `count` of them, `name-1`, `name-2`, …; without a count the one of that name."""
    table.only(PROCESS_KEYS)
    count = table.read("count", whole(1, COUNT_MAX))
    argv, env, cwd = table.need("argv", COMMAND), table.read("env", TEXT_TABLE) or {}, table.read("cwd", TEXT)
    texts = {"argv": argv, **{f"env.{key}": [text] for key, text in env.items()}, "cwd": [cwd or ""]}
    for variable in env:
        if variable.startswith(OF_THE_LAB):
            raise table.refused(f"env.{variable}", f"variables that begin with {OF_THE_LAB} are the lab's")
    check_placeholders(table, texts, known)
    check_program(table, "argv", argv, cwd or "", env, directory)
    also = table.read("also", TEXTS)
    process = StatedProcess(
        name=name,
        role=table.read("role", TEXT) or name,
        argv=tuple(argv),
        env=env,
        cwd=cwd,
        runs_once=table.read("runs_once", FLAG) or False,
        stop_signal=table.read("stop_signal", TEXT) or "SIGTERM",
        also=tuple(also or ()),
    )
    with table.at(""):
        checked_processes(name, [process])
    return [process] if count is None else [_numbered(process, number) for number in range(1, count + 1)]


def _numbered(process: StatedProcess, number: int) -> StatedProcess:
    return replace(process, name=f"{process.name}-{number}")

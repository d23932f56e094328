"""Reads the services of the user's own from tasklab.toml. Starts nothing."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from chaos.environment import SERVICE_NAMES, ServiceName
from chaos.services.declared.program import PARTS, READY_WITHIN_S, STOP_SIGNAL, Readiness, ServiceProgram
from chaos.services.placeholders import known_placeholders
from scenarios.configuration.programs import check_placeholders, check_program
from scenarios.configuration.table import COMMAND, SECONDS, TEXT, TEXT_TABLE, TEXTS, Table, ValueKind, one_of
from scenarios.plugin.statements import NAME, RESERVED, SIGNALS

SERVICE_KEYS = ("argv", "plays", "ports", "ready", "ready_within_s", "env", "cwd", "stop_signal")
READY_KEYS = ("command", "http", "send", "expect")
TAKEN = frozenset({*SERVICE_NAMES, *PARTS, *RESERVED, "toxiproxy"})
PORT_NAME = re.compile(r"[A-Za-z][\w-]{0,31}")
HTTP_PATH: ValueKind[str] = ValueKind(
    "a path that begins with /",
    lambda value: isinstance(value, str) and re.fullmatch(r"/[!-~]*", value) is not None,
)


def read_services(table: Table, directory: Path, needs: Collection[ServiceName]) -> tuple[ServiceProgram, ...]:
    """The services of the file, in its order; `needs`: those of the lab.

    Raises:
        MalformedConfiguration: a value is missing or invalid, or two services play the same part.
    """
    services = tuple(_service(name, one, directory, needs) for name, one in table.tables("services").items())
    playing: dict[str, str] = {}
    for service in services:
        if service.plays is not None and (other := playing.setdefault(service.plays, service.name)) != service.name:
            raise table.refused(f"services.{service.name}.plays", f"{other} plays the {service.plays} already")
    return services


def _service(name: str, table: Table, directory: Path, needs: Collection[ServiceName]) -> ServiceProgram:
    if not NAME.fullmatch(name) or name in TAKEN:
        raise table.refused(
            "",
            "a service of your own has a name of 1 to 64 letters, digits, '_', '.' and '-', which is none of the lab's",
        )
    table.only(SERVICE_KEYS)
    ports = table.read("ports", TEXTS) or []
    if any(not PORT_NAME.fullmatch(port) or ports.count(port) > 1 for port in ports):
        raise table.refused(f"ports = {ports}", "each name has letters, digits, '_' and '-', and occurs once")
    known = (*known_placeholders(needs, {}), "port", *(f"ports.{port}" for port in ports), "data")
    argv, env = table.need("argv", COMMAND), table.read("env", TEXT_TABLE) or {}
    cwd = table.read("cwd", TEXT) or ""
    check_placeholders(table, {"argv": argv, **{f"env.{key}": [text] for key, text in env.items()}}, known)
    check_program(table, "argv", argv, cwd, env, directory)
    if not any("{port}" in text for text in (*argv, *env.values())):
        raise table.refused("argv", "neither argv nor env holds {port}: the lab chooses the port at which it listens")
    return ServiceProgram(
        name,
        tuple(argv),
        directory / cwd,
        table.read("plays", one_of(PARTS)),
        tuple(ports),
        env,
        _readiness(table.table("ready"), known, directory / cwd),
        table.read("ready_within_s", SECONDS) or READY_WITHIN_S,
        table.read("stop_signal", one_of(sorted(SIGNALS))) or STOP_SIGNAL,
    )


def _readiness(table: Table, known: Collection[str], directory: Path) -> Readiness:
    table.only(READY_KEYS)
    stated: Mapping[str, Any] = {
        "command": table.read("command", COMMAND),
        "http": table.read("http", HTTP_PATH),
        "send": table.read("send", TEXT),
        "expect": table.read("expect", TEXT),
    }
    match [key for key, value in stated.items() if value is not None]:
        case []:
            return Readiness()
        case ["command"]:
            check_placeholders(table, {"command": stated["command"]}, known)
            check_program(table, "command", stated["command"], "", {}, directory)
            return Readiness("command", command=tuple(stated["command"]))
        case ["http"]:
            return Readiness("http", path=stated["http"])
        case ["send", "expect"]:
            return Readiness("ask", send=stated["send"].encode(), expect=stated["expect"].encode())
    raise table.refused(
        "", "it states `command`, or `http`, or `send` and `expect`; without any a TCP connection is enough"
    )

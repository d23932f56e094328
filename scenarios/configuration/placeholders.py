"""The placeholders of tasklab.toml, such as `{redis.url}`: each is a path in the `services` of docs/protocol.md, or `{process}`. Pure."""

import re
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from chaos.environment import ServiceName, Services
from chaos.services.registry import descriptor
from scenarios.errors import nearest
from scenarios.plugin.protocol import services_fields

PROCESS = "process"
"""The name of the process that is started."""
_OF_EVERY_RUN = ("namespace", "directory", "http_port", PROCESS)
_FORM = re.compile(r"\{\{(?P<plain>[A-Za-z_][\w.-]*)\}\}|\{(?P<name>[A-Za-z_][\w.-]*)\}")
"""`{{name}}` is the text `{name}`; every other brace stays as it is."""


def known_placeholders(needs: Collection[ServiceName]) -> tuple[str, ...]:
    """The names that texts of a system with these services may hold."""
    addresses = {service: descriptor(service).address for service in sorted(needs)}
    of_services = [
        f"{service}.{field}"
        for service, address in addresses.items()
        for field in (*(field.name for field in fields(address)), "url")
    ]
    return (*_OF_EVERY_RUN, *of_services)


def error_of(text: str, known: Collection[str]) -> str:
    """Why a text cannot be filled: its first unknown placeholder, with the nearest known ones; "" if it can."""
    for match in _FORM.finditer(text):
        name = match["name"]
        if name is not None and name not in known:
            hint = ", ".join(f"{{{one}}}" for one in nearest(name, known)[:1] or known)
            return f"there is no placeholder {{{name}}}; did you mean {hint}? The text itself is written {{{{{name}}}}}"
    return ""


def values_of(services: Services, process: str) -> dict[str, str]:
    """The value of every placeholder for one process, with its own links."""
    stated = services_fields(services.as_seen_by(process))
    return {**dict(_flat("", stated)), PROCESS: process}


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders replaced."""
    return _FORM.sub(
        lambda match: f"{{{match['plain']}}}" if match["plain"] is not None else values[match["name"]], text
    )


def _flat(path: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [pair for name, inner in value.items() for pair in _flat(f"{path}.{name}" if path else name, inner)]
    if isinstance(value, list | tuple):  # Sentinels: host and port each
        return [(path, ",".join(":".join(map(str, one)) for one in value))]
    return [(path, str(value))]

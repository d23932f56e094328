"""Placeholders of texts that a user writes, such as `{redis.url}`: each is a path in the addresses of a run. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from chaos.services.addresses import ADDRESSES, ServiceName, Services, services_fields

_OF_EVERY_RUN = ("namespace", "directory", "http_port")
_FORM = re.compile(r"\{\{(?P<plain>[A-Za-z_][\w.-]*)\}\}|\{(?P<name>[A-Za-z_][\w.-]*)\}")
"""`{{name}}` is the text `{name}`; every other brace stays as it is."""


def known_placeholders(needs: Collection[ServiceName], own: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """The names that texts may hold, in a run with these services; `own`: by service of the user's own, the names of its further ports."""
    return (
        *_OF_EVERY_RUN,
        *(f"{name}.{field}" for name in sorted(needs) for field in (*(one.name for one in fields(ADDRESSES[name])), "url")),
        *(f"own.{name}.{field}" for name, ports in own.items() for field in ("host", "port", *map("ports.{}".format, ports))),
    )  # fmt: skip


def error_of(text: str, known: Collection[str]) -> str:
    """Why a text cannot be filled: its first unknown placeholder, with the nearest known one; "" if it can."""
    for match in _FORM.finditer(text):
        name = match["name"]
        if name is not None and name not in known:
            hint = ", ".join(f"{{{one}}}" for one in get_close_matches(name, known, n=1, cutoff=0.4) or known)
            return f"there is no placeholder {{{name}}}; did you mean {hint}? The text itself is written {{{{{name}}}}}"
    return ""


def flat_values(services: Services) -> dict[str, str]:
    """The value of every placeholder."""
    return dict(_flat("", services_fields(services)))


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders replaced."""
    return _FORM.sub(
        lambda match: f"{{{match['plain']}}}" if match["plain"] is not None else values[match["name"]], text
    )


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list | tuple):  # Sentinels: host and port each
        yield path, ",".join(":".join(map(str, one)) for one in value)
    else:
        yield path, str(value)

"""A service of the user's own, as its file declares it. Pure data; the texts of `argv`, `env` and `ready.command` hold placeholders."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

PARTS = ("broker", "database", "result backend", "cache")
"""The parts that a service may play in a system. A scenario may name a part in place of a service."""
READY_WITHIN_S = 30.0
STOP_SIGNAL = "SIGTERM"


@dataclass(frozen=True, slots=True)
class Readiness:
    """How it is known that the service is ready: by a round trip.

    `kind`: `connect` (a TCP connection is accepted), `command` (it exits 0), `http` (a GET of `path` is answered with a status below
    400), or `ask` (`send` is answered by bytes that end with `expect`).
    """

    kind: Literal["connect", "command", "http", "ask"] = "connect"
    command: tuple[str, ...] = ()
    path: str = ""
    send: bytes = b""
    expect: bytes = b""

    @property
    def is_exchange(self) -> bool:
        """Whether the lab can make it itself, through a link: the proof that a network fault bites needs that."""
        return self.kind in ("http", "ask")


@dataclass(frozen=True, slots=True)
class ServiceProgram:
    """One service. `ports`: names of further ports, beside its main one. `directory`: where it starts. `plays`: its part, if it has one."""

    name: str
    argv: tuple[str, ...]
    directory: Path
    plays: str | None = None
    ports: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    ready: Readiness = Readiness()
    ready_within_s: float = READY_WITHIN_S
    stop_signal: str = STOP_SIGNAL

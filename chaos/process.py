"""Processes of the system under test: the specification of one, and the state of one that was started."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One operating-system process of a system under test.

    `role`: its function in the system (`api`, `relay`, `worker`, `rescuer`, ...; faults are aimed at roles). `also`: its other
    roles: in a system without an outbox the API is also the relay. `argv[0]` is an absolute path or found on PATH. `env` is
    added to the lab's own environment. `runs_once`: a preparation (a migration) that must exit 0 before the others start.
    `stop_signal` asks it to end gracefully.
    """

    name: str
    role: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    runs_once: bool = False
    stop_signal: str = "SIGTERM"
    also: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """All its roles."""
        return (self.role, *self.also)


@runtime_checkable
class Process(Protocol):
    """A started process of the system under test."""

    @property
    def spec(self) -> ProcessSpec:
        """Its specification."""

    @property
    def pid(self) -> int:
        """Process id of the current incarnation."""

    @property
    def log(self) -> Path:
        """The file of its standard output and error; a restart appends."""

    def is_alive(self) -> bool:
        """Whether it runs (a stopped one is alive, a zombie is not)."""

    def exit_code(self) -> int | None:
        """How its last incarnation ended (negative: the signal), or None while it runs."""

    def ended_ns(self) -> int | None:
        """When its last incarnation ended, on the monotonic clock; None while it runs, or if that is not known."""

"""Systems in client processes, ended after each test."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.environment import Services
from scenarios.plugin import host
from scenarios.plugin.protocol import DEADLINES_S
from scenarios.plugin.remote_system import RemoteSystem, remote_system

ROOT = Path(__file__).parents[2]

Remote = Callable[..., RemoteSystem]


@pytest.fixture
def remote() -> Iterator[Remote]:
    """Makes the system of a module of this folder, or of a command, with other deadlines where a test needs them."""
    opened: list[RemoteSystem] = []

    def open_(place: str, **deadlines_s: float) -> RemoteSystem:
        argv = [sys.executable, host.__file__, f"tests.plugin.{place}"]
        return open_program(argv, **deadlines_s)

    def open_program(argv: list[str], directory: Path = ROOT, **deadlines_s: float) -> RemoteSystem:
        system = remote_system(argv, argv[-1], directory=directory, deadlines_s={**DEADLINES_S, **deadlines_s})
        opened.append(system)
        return system

    open_.program = open_program  # type: ignore[attr-defined]
    yield open_
    for system in opened:
        system.abandon()


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services("lab_1", tmp_path, 8000)

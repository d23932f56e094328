"""Real services for these tests: namespaces and processes in the one local environment (tests/conftest.py)."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from chaos.environment import ProcessSpec, Services
from chaos.environments.local import LocalEnvironment
from chaos.environments.processes import HostedProcess

_numbers = itertools.count(1)

StartProcess = Callable[..., HostedProcess]
Provision = Callable[..., Services]


@pytest.fixture
def provision(local: LocalEnvironment) -> Provision:
    def provision_one(linked: Sequence[str] = ()) -> Services:
        return local.provision(f"test_{next(_numbers)}", linked=linked)

    return provision_one


@pytest.fixture
def start_process(local: LocalEnvironment, tmp_path: Path) -> Iterator[StartProcess]:
    started: list[HostedProcess] = []

    def start(*argv: str, name: str = "worker-1", role: str = "worker") -> HostedProcess:
        spec = ProcessSpec(name, role, argv or ("sleep", "1000"))
        started.append(local.start_process(spec, log_directory=tmp_path / "logs"))
        return started[-1]

    yield start
    for process in started:
        local.stop_process(process, timeout_s=0.0)

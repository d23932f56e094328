"""Real services for these tests: one local environment for all of them, started when the first test wants it."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from chaos.environment import ProcessSpec, Services
from chaos.environments.leftovers import find_leftovers
from chaos.environments.local import LocalEnvironment
from chaos.environments.processes import HostedProcess

_numbers = itertools.count(1)

StartProcess = Callable[..., HostedProcess]
Provision = Callable[..., Services]


@pytest.fixture(scope="session")
def local() -> Iterator[LocalEnvironment]:
    environment = LocalEnvironment()
    with environment:
        directory = environment.directory
        yield environment
    assert find_leftovers(directory) == []


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

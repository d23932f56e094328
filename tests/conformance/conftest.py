"""Tests whose one body runs against the simulated services and the real ones."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from chaos.environments.local import LocalEnvironment
from tests.conformance.worlds import Clients, RealClients, SimulatedClients

_numbers = itertools.count(1)

Conform = Callable[[Callable[[Clients], None]], None]
"""Runs a body in one of the worlds."""


@pytest.fixture(params=["simulated", pytest.param("real", marks=pytest.mark.services)])
def conform(request: pytest.FixtureRequest) -> Iterator[Conform]:
    if request.param == "simulated":
        yield SimulatedClients().run
        return
    local: LocalEnvironment = request.getfixturevalue("local")
    clients = RealClients(local, local.provision(f"conform_{next(_numbers)}"))
    clients.create_tables()
    yield lambda body: body(clients)
    clients.close()

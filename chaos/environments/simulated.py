"""The simulated environment, as commands see it: it offers the simulated services, but starts none; chaos.simulation makes the worlds."""

import sqlite3
from collections.abc import Mapping
from types import MappingProxyType

from chaos.environment import AnyEnvironment
from chaos.faults import Fault
from chaos.simulation import SERVICES


class SimulatedEnvironment(AnyEnvironment):
    """Nothing to start or clean up: each world is created, run and discarded within one call."""

    name = "simulated"
    offers: frozenset[str] = frozenset(SERVICES)

    def __enter__(self) -> "SimulatedEnvironment":
        """Without effect."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Without effect."""

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Empty: no service is started."""
        return MappingProxyType({})

    def versions(self) -> Mapping[str, str]:
        """The version of SQLite, which simulates the database."""
        return {"sqlite": sqlite3.sqlite_version}

    def can(self, fault: Fault) -> str:
        """Why no simulated world can do the fault, in one sentence; "" if it can."""
        from chaos.simulation.injectors import can  # late: it brings the simulator and SQLAlchemy

        return can(fault)

"""The simulated world as an environment: it offers every service and starts none; what happens in it is in chaos.simulation."""

import sqlite3
from collections.abc import Mapping
from types import MappingProxyType

from chaos.environment import SERVICE_NAMES, ServiceName


class SimulatedEnvironment:
    """Nothing to start and nothing to clean up: each world is made, run and forgotten within one call."""

    name = "simulated"
    offers: frozenset[ServiceName] = frozenset(SERVICE_NAMES)

    def __enter__(self) -> "SimulatedEnvironment":
        """Nothing is started."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Nothing is left."""

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Nothing takes any time."""
        return MappingProxyType({})

    def versions(self) -> Mapping[str, str]:
        """What stands for the database's language."""
        return {"sqlite": sqlite3.sqlite_version}

"""The environments by name, for commands that start one."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.environment import Environment
    from scenarios.system import System


class EnvironmentName(StrEnum):
    """Where real processes run."""

    EMBEDDED = "embedded"
    LOCAL = "local"


class WorldName(StrEnum):
    """Where a scenario can take place."""

    EMBEDDED = "embedded"
    LOCAL = "local"
    SIMULATED = "simulated"


def make_environment(name: EnvironmentName, system: "System") -> "Environment":
    """The environment, not yet started, with the services that the system needs."""
    if name is EnvironmentName.EMBEDDED:
        from chaos.environments.embedded import EmbeddedEnvironment

        return EmbeddedEnvironment()
    from chaos.environments.local import LocalEnvironment

    return LocalEnvironment(sorted(system.needs))

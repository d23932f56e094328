"""The environments by name."""

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from scenarios.errors import WrongUsage

URL_VARIABLES = {
    "mysql_url": "TASKLAB_MYSQL_URL",
    "redis_url": "TASKLAB_REDIS_URL",
    "rabbitmq_url": "TASKLAB_RABBITMQ_URL",
}
"""Where the services of the environment `external` are: in variables, because the URLs hold passwords."""

IMAGE_VARIABLES: Mapping["ServiceName", str] = {
    "mysql": "TASKLAB_MYSQL_IMAGE",
    "redis": "TASKLAB_REDIS_IMAGE",
    "rabbitmq": "TASKLAB_RABBITMQ_IMAGE",
}
"""Images that replace the defaults of the environment `containers`."""

if TYPE_CHECKING:
    from chaos.environment import Environment, ServiceName
    from scenarios.contract.system import System


class EnvironmentName(StrEnum):
    """Where a scenario can take place."""

    EMBEDDED = "embedded"
    LOCAL = "local"
    CONTAINERS = "containers"
    EXTERNAL = "external"
    SIMULATED = "simulated"


SIMULATED = EnvironmentName.SIMULATED.value


def make_environment(name: EnvironmentName, system: "System") -> "Environment":
    """The environment, not yet started, with the services that the system needs.

    Raises:
        NotReal: the simulated world starts no process, so it cannot be used here.
    """
    if name is EnvironmentName.SIMULATED:
        raise NotReal
    if name is EnvironmentName.EMBEDDED:
        from chaos.environments.embedded import EmbeddedEnvironment

        return EmbeddedEnvironment()
    if name is EnvironmentName.EXTERNAL:
        from chaos.environments.external import ExternalEnvironment

        return ExternalEnvironment(**_given_urls())
    if name is EnvironmentName.CONTAINERS:
        from chaos.environments.containers import ContainersEnvironment

        return ContainersEnvironment(sorted(system.needs), images=given_images())
    from chaos.environments.local import LocalEnvironment

    return LocalEnvironment(sorted(system.needs))


def given_images() -> dict["ServiceName", str]:
    """The images that the variables name, by service."""
    return {service: os.environ[variable] for service, variable in IMAGE_VARIABLES.items() if variable in os.environ}


def _given_urls() -> dict[str, Any]:
    given = {argument: os.environ[variable] for argument, variable in URL_VARIABLES.items() if variable in os.environ}
    if not given:
        raise NoUrls
    return given


class NotReal(WrongUsage):
    """The simulated world was chosen where real processes are needed."""

    def __init__(self) -> None:
        super().__init__("a load needs real processes: --environment local, embedded, containers or external")


class NoUrls(WrongUsage):
    """The environment `external` was chosen without a URL of any service."""

    def __init__(self) -> None:
        super().__init__(
            f"the environment 'external' takes its services from {', '.join(URL_VARIABLES.values())}; none of them is set"
        )

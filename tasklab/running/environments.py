"""Environments by their names on the command line, and the environment variables that some of them read."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chaos.environments.catalogue import EnvironmentName as EnvironmentName
from chaos.environments.catalogue import environment_class
from chaos.services.addresses import SERVICE_NAMES, ServiceName
from scenarios.contract.system import capabilities_of, own_services_of
from scenarios.errors import WrongUsage

if TYPE_CHECKING:
    from chaos.environment import Environment
    from scenarios.contract.system import System

URL_VARIABLES = {f"{service}_url": f"TASKLAB_{service.upper()}_URL" for service in SERVICE_NAMES}
"""The URLs of the services of the environment `external`: variables, because the URLs hold passwords."""

IMAGE_VARIABLES: Mapping[ServiceName, str] = {service: f"TASKLAB_{service.upper()}_IMAGE" for service in SERVICE_NAMES}
"""Images that replace the defaults of the environment `containers`."""

SIMULATED = EnvironmentName.SIMULATED.value


def make_environment(name: EnvironmentName, system: "System") -> "Environment":
    """The environment, not yet started, with the services that the system needs.

    The constructor takes the names of these services and those of the system's own, except those of embedded and external; containers
    also takes images, and local whether Redis has Sentinels, which it has for a system that states the capability of asking them.

    Raises:
        NotReal: the simulated world starts no process, so it cannot be used here.
        NoUrls: `external` without a URL.
    """
    if name is EnvironmentName.SIMULATED:
        raise NotReal
    found = environment_class(name)
    if name is EnvironmentName.EMBEDDED:
        environment = found()
    elif name is EnvironmentName.EXTERNAL:
        environment = found(**_given_urls())
    elif name is EnvironmentName.CONTAINERS:
        environment = found(sorted(system.needs), declared=own_services_of(system), images=given_images())
    else:
        sentinels = "sentinels" in capabilities_of(system)
        environment = found(sorted(system.needs), declared=own_services_of(system), sentinels=sentinels)
    made: Environment = environment
    return made


def given_images() -> dict[ServiceName, str]:
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
        real = [name.value for name in EnvironmentName if name is not EnvironmentName.SIMULATED]
        super().__init__(f"loads and conform need real processes: --environment {', '.join(real)}")


class NoUrls(WrongUsage):
    """The environment `external` was chosen without a URL of any service."""

    def __init__(self) -> None:
        super().__init__(
            f"the environment 'external' takes its services from {', '.join(URL_VARIABLES.values())}; none of them is set"
        )

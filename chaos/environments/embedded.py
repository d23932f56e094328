"""The embedded environment: no server at all; processes that are really killed and paused, and a directory for their files."""

from chaos.environment import ServiceName
from chaos.environments.hosted import HostedEnvironment
from chaos.injectors.injector import Capability


class EmbeddedEnvironment(HostedEnvironment):
    """Offers no service, and does faults of processes only."""

    name = "embedded"
    offers: frozenset[ServiceName] = frozenset()
    capabilities = frozenset({Capability.PROCESSES})

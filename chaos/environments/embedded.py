"""The embedded environment: no services; processes, which faults kill and pause for real, and a directory for their files."""

from chaos.environments.hosted import HostedEnvironment
from chaos.injectors.injector import Capability


class EmbeddedEnvironment(HostedEnvironment):
    """Offers no service, and does faults of processes only."""

    name = "embedded"
    offers: frozenset[str] = frozenset()
    capabilities = frozenset({Capability.PROCESSES})

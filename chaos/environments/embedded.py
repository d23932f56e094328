"""The embedded world: no server at all; processes that are really killed and paused, with a directory to keep their things in."""

from chaos.environment import ServiceName
from chaos.environments.hosted import HostedEnvironment


class EmbeddedEnvironment(HostedEnvironment):
    """Offers no service and does faults of processes only."""

    name = "embedded"
    offers: frozenset[ServiceName] = frozenset()

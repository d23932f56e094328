"""A world without a real clock, thread or socket: a seed decides everything in it."""

from chaos.services.addresses import ServiceName

SERVICES: tuple[ServiceName, ...] = ("mysql", "redis", "rabbitmq")
"""The services of every simulated world, in a fixed order: the seeds of the swarm draw from it."""

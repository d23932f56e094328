"""RabbitMQ in a container, as the official image documents it."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace

from chaos.ports import LOOPBACK, PortAllocator
from chaos.services.addresses import RabbitmqAddress, Services
from chaos.services.container import ContainerService
from chaos.services.docker_engine import DockerEngine
from chaos.services.rabbitmq import server as rabbitmq
from chaos.services.rabbitmq import virtual_host
from chaos.services.rabbitmq.quorum_queues import QuorumQueues

MEMBERS = """cd "${RABBITMQ_MNESIA_BASE:-/var/lib/rabbitmq/mnesia}" || exit; for config in */quorum/*/*/config; do"""
UNSAVED = f"""{MEMBERS}
  registry="${{config%/*/config}}/names.dets"
  [ -e "$config" ] || continue
  [ -e "$registry" ] && [ "$(stat -c %Y "$registry")" -gt "$(stat -c %Y "$config")" ] || echo "$config"
done"""
"""Prints the members of quorum queues that are not in the registry on the disk, see `QuorumQueues`."""

CONFIGS = f"""{MEMBERS} cat "$config" && printf '\\0'; done"""
"""Prints the configurations of all members, a zero byte after each."""


class RabbitmqContainer(ContainerService):
    """RabbitMQ's image, with a user for this lab."""

    name = "rabbitmq"
    inner_port = 5672

    def __init__(self, engine: DockerEngine, image: str, lab: str, allocator: PortAllocator) -> None:
        super().__init__(engine, image, lab, allocator)
        self._password = secrets.token_hex(12)
        self._quorum_queues = QuorumQueues(lambda: self.container.output_of(UNSAVED), self._configs)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {"RABBITMQ_DEFAULT_USER": rabbitmq.USER, "RABBITMQ_DEFAULT_PASS": self._password}

    def address(self) -> RabbitmqAddress:
        """Its address, for a user with all rights."""
        return RabbitmqAddress(LOOPBACK, self.port, rabbitmq.USER, self._password)

    def missing(self) -> str:
        """The problem, or "" when a confirmed message comes back."""
        return rabbitmq.missing(self.address())

    def version(self) -> str:
        """As the broker reports it when a client connects."""
        return rabbitmq.read_version(self.address())

    def provide(self, services: Services) -> Services:
        """The services of a run with its address and an empty virtual host; those of earlier runs are removed."""
        name = services.namespace
        expression = virtual_host.fresh("fun erlang:apply/3", name, rabbitmq.USER)
        virtual_host.check_fresh(name, self.container.output_of(f"rabbitmqctl eval '{expression}.' 2>&1"))
        return replace(services, rabbitmq=replace(self.address(), vhost=name))

    def queue_names(self, vhost: str) -> list[str]:
        """The queues of that virtual host."""
        expression = virtual_host.queues("fun erlang:apply/3", vhost)
        return virtual_host.queue_names(self.container.output_of(f"rabbitmqctl eval '{expression}.' 2>&1"))

    def kill(self) -> str:
        """SIGKILL to the container, after the time in which RabbitMQ would forget a new queue, see `QuorumQueues`."""
        self._quorum_queues.await_saved()
        return super().kill()

    def confirmed_data_lost_by_kill(self) -> str:
        """The quorum queues that it has forgotten all the same."""
        return self._quorum_queues.confirmed_data_lost_by_kill()

    def _configs(self) -> Iterable[str]:
        return self.container.output_of(CONFIGS).split("\0")

"""The descriptor of RabbitMQ."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pamqp import commands
from pamqp.exceptions import PAMQPException

from chaos.deadline import Deadline
from chaos.errors import ServiceUnavailable
from chaos.services.addresses import RabbitmqAddress
from chaos.services.contents import ServiceItem
from chaos.services.descriptor import ServiceDescriptor
from chaos.services.exchange import as_os_errors
from chaos.services.rabbitmq import server
from chaos.services.rabbitmq.amqp_client import AmqpClient
from chaos.services.rabbitmq.container import RabbitmqContainer
from chaos.services.rabbitmq.contents import read_contents
from chaos.services.url import split_url

QOS_ANSWER_BYTES = 12  # the whole frame of basic.qos-ok


class RabbitmqExchange:
    """Sends the same basic.qos repeatedly, which has no effect except the answers."""

    def __init__(self, address: RabbitmqAddress, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        with as_os_errors(PAMQPException):
            self._client = AmqpClient(address, Deadline.after(timeout_s))
            self._client.open()

    def ask(self, reply_bytes: int = 0) -> float:
        """Seconds until the answers amount to that many bytes."""
        began_s = time.monotonic()
        with as_os_errors(PAMQPException):
            self._client.extend(Deadline.after(self._timeout_s))
            questions = 1 + reply_bytes // QOS_ANSWER_BYTES
            self._client.call_many([commands.Basic.Qos(prefetch_count=1)] * questions, commands.Basic.QosOk)
        return time.monotonic() - began_s

    def close(self) -> None:
        """Close the socket."""
        self._client.close()


def read_url(url: str) -> RabbitmqAddress:
    """`amqp://user:password@host:port/vhost`."""
    parts = split_url(url, ("amqp",))
    vhost = unquote(parts.path.removeprefix("/")) or "/"
    user, password = unquote(parts.username or "guest"), unquote(parts.password or "guest")
    return RabbitmqAddress(str(parts.hostname), parts.port or 5672, user, password, vhost)


def remove(address: RabbitmqAddress, namespace: str) -> None:
    """Queues cannot be listed without the management plugin: those that a run declared stay."""


def contents(address: RabbitmqAddress, own: Any) -> Iterator[ServiceItem]:
    """Messages. Of a broker that is not the lab's own the queues cannot be listed.

    Raises:
        ServiceUnavailable: it does not answer, or its queues cannot be listed.
    """
    if own is None:
        raise ServiceUnavailable("rabbitmq", "its queues cannot be listed: the lab has only its address")
    yield from read_contents(address, own.queue_names(address.vhost))


DESCRIPTOR = ServiceDescriptor(
    name="rabbitmq",
    address=RabbitmqAddress,
    server=server.RabbitmqServer,
    container=RabbitmqContainer,
    image="rabbitmq:3.13",
    read_url=read_url,
    missing=lambda address: server.missing(address),
    version=server.read_version,
    open_exchange=RabbitmqExchange,
    provision=lambda address, namespace: address,
    remove=remove,
    contents=contents,
    proxy_kinds=lambda address: ("relay", "proxy"),
)

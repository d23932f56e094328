"""The reconnect loop that worker and relay share: open a channel, use it until it breaks, open another."""

from collections.abc import Callable
from typing import Protocol, TypeVar

import structlog

from reference_impl.errors import BrokerError
from reference_impl.loops.backoff import RETRY_DELAY_S, Backoff
from reference_impl.metrics import Metrics
from reference_impl.ports import Shutdown

log = structlog.get_logger()


class Closable(Protocol):
    """A channel to the broker."""

    def close(self) -> None:
        """Release the channel. Never raises."""


C = TypeVar("C", bound=Closable)


def run_reconnecting(
    shutdown: Shutdown, metrics: Metrics, name: str, open_channel: Callable[[], C], use: Callable[[C], None]
) -> None:
    """Call `use` with an open channel, again with a new one after every BrokerError, until shutdown is requested.

    `name` is the loop's name in the log.
    """
    backoff = Backoff(shutdown, f"{name} waits for the broker")
    while not shutdown.requested:
        try:
            channel = open_channel()
        except BrokerError as error:
            backoff.wait(error)
            continue
        backoff.reset()
        try:
            use(channel)
        except BrokerError as error:
            log.warning(f"{name} lost the broker", why=str(error))
            metrics.broker_connections_lost.inc()
            shutdown.wait(RETRY_DELAY_S)
        finally:
            channel.close()

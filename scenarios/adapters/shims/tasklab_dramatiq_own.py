"""The lab's own apps of Dramatiq: as its documentation recommends it for work that must not be lost, and as it comes."""

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker


def _body(payload: object) -> None:
    raise NotImplementedError("the lab replaces it")  # this body never runs


recommended = dramatiq.actor(
    _body,
    broker=RabbitmqBroker(confirm_delivery=True),
    actor_name="recommended",
    max_retries=3,
    min_backoff=500,
    max_backoff=2_000,
)
"""Sends are confirmed, and retries come within seconds."""

defaults = dramatiq.actor(_body, broker=RabbitmqBroker(), actor_name="defaults")
"""Whatever Dramatiq does if nothing is stated."""

"""A shop as it would run in production: a broker with a password, an actor with its options. The lab must change nothing of it."""

import os

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.brokers.redis import RedisBroker

HOST = os.environ.get("SHOP_HOST", "broker.example")
PORT = int(os.environ.get("SHOP_PORT", "5672"))

if os.environ.get("SHOP_BROKER") == "redis":
    broker = RedisBroker(url=f"redis://:hunter2@{HOST}:{PORT}/3")
else:
    broker = RabbitmqBroker(url=f"amqp://shop:hunter2@{HOST}:{PORT}/prod?heartbeat=30", confirm_delivery=True)
dramatiq.set_broker(broker)


@dramatiq.actor(queue_name="orders", max_retries=2, min_backoff=500)
def charge(order, cents):
    """What the lab replaces: it would really charge somebody."""
    raise SystemExit("production code ran")


@dramatiq.actor
def remind(order):
    """Another task of the shop."""

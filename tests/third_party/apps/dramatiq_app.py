"""A shop as it would run in production: a broker with a password, an actor with its options. The lab must change nothing of it."""

import contextlib
import os

import dramatiq
import redis
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.brokers.redis import RedisBroker

HOST = os.environ.get("SHOP_HOST", "broker.example")
PORT = int(os.environ.get("SHOP_PORT", "5672"))

if os.environ.get("SHOP_BROKER") == "redis":
    broker = RedisBroker(url=f"redis://:hunter2@{HOST}:{PORT}/3")
else:
    broker = RabbitmqBroker(url=f"amqp://shop:hunter2@{HOST}:{PORT}/prod?heartbeat=30", confirm_delivery=True)
dramatiq.set_broker(broker)


class Counts(dramatiq.Middleware):
    """Counts tasks in a Redis of its own, which the broker knows nothing of, and shrugs if that is away."""

    def after_process_message(self, broker, message, *, result=None, exception=None):
        with contextlib.suppress(redis.RedisError):
            redis.Redis(HOST, PORT, retry=None).incr("processed")


broker.add_middleware(Counts())


@dramatiq.actor(queue_name="orders", max_retries=2, min_backoff=500)
def charge(order, cents):
    """What the lab replaces: it would really charge a customer."""
    raise SystemExit("production code ran")


@dramatiq.actor
def remind(order):
    """Another task of the shop."""

"""The plug-in: two Dramatiq workers on one RabbitMQ, and clients that publish with confirms. Runs in the environment of Dramatiq."""

import sys
from pathlib import Path

import dramatiq
import pika
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from tasklab_plugin import Outcome, Pace, Policy, ProcessSpec, Submit

ACTOR = "probe"


class HealthyDramatiq:
    """Dramatiq on RabbitMQ as its documentation recommends it: a message is acknowledged when its actor has returned."""

    name = "healthy_dramatiq"
    needs = frozenset({"rabbitmq"})
    claims = frozenset({"no_lost_task", "no_stuck_task", "no_phantom_task", "duplicates_explained"})
    pace = Pace(quiet_s=4.0)
    policy = Policy(budget_s=30.0)

    def __init__(self):
        self.versions = {"dramatiq": dramatiq.__version__, "pika": pika.__version__}

    def processes(self, services, handlers):
        """Two workers of one process and four threads each."""
        argv = [sys.executable, "-m", "dramatiq", "healthy_dramatiq.tasks", "--processes", "1", "--threads", "4"]
        return [
            ProcessSpec(name, "worker", argv, self._environment(services, handlers, name), Path(__file__).parents[1])
            for name in ("worker-1", "worker-2")
        ]

    def client(self, services):
        """A client with a connection of its own."""
        return Client(services.rabbitmq.url, queue_of(services))

    def _environment(self, services, handlers, name):
        url = services.as_seen_by(name).rabbitmq.url
        return {**handlers.environment_of(name), "HEALTHY_URL": url, "HEALTHY_QUEUE": queue_of(services)}


class Client:
    """Publishes messages for the actor, and waits for the broker's confirm."""

    def __init__(self, url, queue):
        self._broker = RabbitmqBroker(url=url, confirm_delivery=True, middleware=[])
        self._queue = queue

    def invoke(self, operation):
        """Publish a message; nothing else can be asked of this system."""
        if not isinstance(operation, Submit):
            return Outcome("fail", detail="this system takes submissions, and nothing else")
        kwargs = {"payload": dict(operation.payload)}
        message = dramatiq.Message(queue_name=self._queue, actor_name=ACTOR, args=(), kwargs=kwargs, options={})
        try:
            self._broker.declare_queue(self._queue, ensure=True)
        except (dramatiq.errors.ConnectionError, pika.exceptions.AMQPError) as error:
            return Outcome("fail", detail=repr(error))
        try:
            self._broker.enqueue(message)
        except (dramatiq.errors.ConnectionError, pika.exceptions.AMQPError) as error:
            return Outcome("info", detail=repr(error))
        return Outcome("ok", id=message.message_id)

    def close(self):
        """Close the connection."""
        self._broker.close()


def queue_of(services):
    """The queue of this run."""
    return f"{services.namespace}.tasks"


system = HealthyDramatiq()

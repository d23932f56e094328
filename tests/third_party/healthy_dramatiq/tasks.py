"""What the workers run: one actor, which is the lab's handler."""

import os

import dramatiq
import tasklab_probe
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.middleware import CurrentMessage

broker = RabbitmqBroker(url=os.environ["HEALTHY_URL"], confirm_delivery=True)
broker.add_middleware(CurrentMessage())
dramatiq.set_broker(broker)


@dramatiq.actor(queue_name=os.environ["HEALTHY_QUEUE"], max_retries=3, min_backoff=1_000, max_backoff=4_000)
def probe(payload):
    """Run the lab's handler, with the number of the attempt and the identity that Dramatiq gives."""
    message = CurrentMessage.get_current_message()
    tasklab_probe.run_task(payload, attempt=message.options.get("retries", 0) + 1, key=message.message_id)

"""A shop whose tasks run in the lab as they are; one tells its effects, if there is a lab to tell them to."""

import os

import dramatiq
from celery import Celery
from dramatiq.brokers.rabbitmq import RabbitmqBroker

try:
    import tasklab_probe
except ImportError:
    tasklab_probe = None

PORT = os.environ.get("SHOP_PORT", "5672")

app = Celery(
    "shop", broker=f"amqp://shop:hunter2@localhost:{PORT}/prod", backend=f"redis://:hunter2@localhost:{PORT}/1"
)
app.conf.update(task_acks_late=True, task_reject_on_worker_lost=True)
broker = RabbitmqBroker(url=f"amqp://shop:hunter2@localhost:{PORT}/prod", confirm_delivery=True)


@app.task(name="shop.charge", bind=True)
def charge(self, order: str, amount: int) -> int:
    if not (order.startswith("order of ") and amount == 17):
        raise ValueError("the lab calls it with other arguments")
    if tasklab_probe is not None:
        tasklab_probe.effect(key=self.request.id, step=2)
    return amount


@dramatiq.actor(broker=broker)
def mail(order: int) -> None:
    """Tells nothing: its return is all that can be seen of it."""
    if order != 17:
        raise ValueError("the lab calls it with other arguments")


def arguments(task: str) -> dict[str, object]:
    return {"order": f"order of {task}", "amount": 17}

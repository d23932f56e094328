"""A shop as its owner wrote it: nothing here knows of the lab. Its services are at an address of its own, which the lab never contacts."""

import os
import sys

from celery import Celery

PORT = os.environ.get("SHOP_PORT", "5672")

app = Celery(
    "shop", broker=f"amqp://shop:hunter2@localhost:{PORT}/prod", backend=f"redis://:hunter2@localhost:{PORT}/1"
)
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_routes={"shop.charge": {"queue": "payments"}},
    broker_transport_options={"confirm_publish": True},
)

early = Celery("early", broker=f"amqp://shop:hunter2@localhost:{PORT}/prod", set_as_current=False)
"""The same broker, with Celery's defaults: a message is acknowledged before its task runs."""


@app.task(name="shop.charge", autoretry_for=(ConnectionError,), retry_backoff=60, retry_jitter=False, max_retries=4)
def charge(order: int, amount: int) -> None:
    sys.exit("the body of a task runs in production only")


@early.task(name="shop.mail")
def mail(order: int) -> None:
    sys.exit("the body of a task runs in production only")

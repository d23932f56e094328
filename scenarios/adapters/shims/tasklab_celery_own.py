"""The lab's own apps of Celery: as its documentation recommends it for work that must not be lost, and as it comes."""

from celery import Celery

BROKER = "amqp://localhost"

recommended = Celery("recommended", broker=BROKER, backend="redis://localhost", set_as_current=False)
"""Acknowledged late, also when the worker is lost; publishes are confirmed, one message is fetched ahead."""
recommended.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    broker_transport_options={"confirm_publish": True},
)

defaults = Celery("defaults", broker=BROKER, backend="redis://localhost", set_as_current=False)
"""Whatever Celery does if nothing is stated."""


@recommended.task(name="recommended.charge", autoretry_for=(Exception,), max_retries=3, retry_backoff=1)  # type: ignore[untyped-decorator, unused-ignore]
def charge(payload: object) -> None:
    """A task that is tried again when it fails."""
    raise NotImplementedError("the lab replaces it")  # this body never runs


@defaults.task(name="defaults.charge")  # type: ignore[untyped-decorator, unused-ignore]
def charge_once(payload: object) -> None:
    """A task without retries."""
    raise NotImplementedError("the lab replaces it")  # this body never runs

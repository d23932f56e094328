from celery import shared_task

from .models import Order


@shared_task(autoretry_for=(ConnectionError,), max_retries=3, retry_backoff=1)
def charge(order: int) -> None:
    Order.objects.filter(pk=order).update(is_paid=True)

import dramatiq

from .models import Order


@dramatiq.actor(max_retries=3, min_backoff=200)
def charge(order: int) -> None:
    Order.objects.filter(pk=order).update(is_paid=True)

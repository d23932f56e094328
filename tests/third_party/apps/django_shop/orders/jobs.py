from django_rq import job
from rq import Retry

from .models import Order


@job("default", retry=Retry(3))
def charge(order: int) -> None:
    Order.objects.filter(pk=order).update(is_paid=True)

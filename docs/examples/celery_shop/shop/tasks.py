"""The tasks of the shop, as the first steps of Celery's documentation write them."""

import os

from celery import Celery

from shop.payments import collect

app = Celery("shop", broker="pyamqp://guest@localhost//", backend="redis://localhost/0")
app.config_from_object(os.environ.get("SHOP_SETTINGS", "shop.reliable"))


@app.task
def charge(order: str, cents: int) -> str:
    """Collect the price of an order; returns the receipt."""
    return collect(order, cents)

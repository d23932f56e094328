"""An app of RQ as its owner wrote it: no word about the lab. Its Redis is at RQ_APP_PORT of this machine."""

import os

from redis import Redis
from rq import Retry
from rq.decorators import job

connection = Redis(host="127.0.0.1", port=int(os.environ.get("RQ_APP_PORT", "6379")), password="hunter2")


@job("payments", connection=connection, timeout=30, retry=Retry(max=3))
def charge(order):
    raise SystemExit("production code ran")


@job("parcels", connection=connection, retry=Retry(max=3, interval=[10, 30, 60]))
def ship(order):
    raise SystemExit("production code ran")


def mail(order):
    raise SystemExit("production code ran")


class Shop:
    def refund(self, order):
        raise SystemExit("production code ran")


nameless = lambda order: None  # noqa: E731  RQ cannot find it by its name

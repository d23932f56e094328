"""A shop that does at its import what SHOP_DOES says."""

import contextlib
import os
import socket
import sys
import threading
import time

from celery import Celery

URL = "amqp://shop:hunter2@localhost:5672/prod"
app = Celery("shop", broker=URL)


def connect():
    with contextlib.suppress(OSError):  # as an app that goes on without its cache
        socket.create_connection(("127.0.0.1", int(os.environ["SHOP_PORT"])))


@app.task(name="shop.charge")
def charge(order):
    sys.exit("the body of a task runs in production only")


does = os.environ["SHOP_DOES"]
if does == "raise":
    raise ValueError(f"{URL} is not there")
if does == "connect":
    connect()
if does == "connect in a thread":
    thread = threading.Thread(target=connect)
    thread.start()
    thread.join()
if does == "print":
    print("x" * 100_000)
    os.write(1, b"{}\n")
if does == "fork" and os.fork() == 0:
    time.sleep(60)
if does == "wait":
    print("loading the model", flush=True)
    time.sleep(60)
if does == "end":
    os._exit(3)

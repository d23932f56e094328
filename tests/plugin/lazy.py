"""Acme, except that it does something wrong when a status is read: in the storm, after a warm-up that went well."""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from acme.lab import Acme

from tasklab import Outcome, Pace, Submit


class Lazy(Acme):
    """Acme, with an act of its own in place of reading a status."""

    name = "lazy"

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act

    def client(self, services: Any) -> Any:
        client = Acme.client(self, services)
        submit = client.invoke
        client.invoke = lambda operation: submit(operation) if isinstance(operation, Submit) else self._act()
        return client


class Impatient(Acme):
    """Acme, with a pace that cannot be."""

    pace = Pace(quiet_s=-5)


def spoil() -> Outcome:
    os.write(1, b"{}\n")
    print("{}")
    return Outcome("fail")


def fail() -> None:
    raise KeyError("no such table")


hangs = Lazy(lambda: time.sleep(1000))
exits = Lazy(lambda: sys.exit(0))
raises = Lazy(fail)
prints = Lazy(spoil)
dies = Lazy(lambda: os._exit(0))
impatient = Impatient()

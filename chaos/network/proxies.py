"""The Toxiproxy proxy between one process and one service, with its active faults; each is lifted separately."""

import itertools
import threading
from collections.abc import Sequence

from chaos.services.toxiproxy.client import Toxic, Toxiproxy


class NetworkProxy:
    """One proxy. Thread-safe. Faults that overlap add up; the toxics of each have unique names."""

    def __init__(self, api: Toxiproxy, name: str) -> None:
        self.api = api
        self.name = name
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._toxics: dict[int, Sequence[str]] = {}
        self._refusing: set[int] = set()

    def degrade(self, toxics: Sequence[Toxic]) -> int:
        """Add these toxics, for open and new connections; returns the number for `restore`."""
        with self._lock:
            number = next(self._numbers)
            self._toxics[number] = self.api.add(self.name, toxics, suffix=f"_{number}")
        return number

    def refuse(self) -> int:
        """Break open connections and refuse new ones; returns the number for `restore`."""
        with self._lock:
            number = next(self._numbers)
            self._refusing.add(number)
            self.api.disable(self.name)
        return number

    def restore(self, number: int) -> None:
        """Lift one fault; the others stay active. Idempotent."""
        with self._lock:
            self.api.remove(self.name, self._toxics.pop(number, ()))
            if number in self._refusing:
                self._refusing.remove(number)
                if not self._refusing:
                    self.api.enable(self.name)

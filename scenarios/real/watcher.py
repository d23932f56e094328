"""Sees processes end: looks at each several times a second, so that its end lies between two known instants."""

import threading
from collections.abc import Callable, Mapping

from chaos.environment import Process
from scenarios.experiment.stage import Death

LOOK_S = 0.1


class Watcher:
    """Reports every process that has ended since the last look: once for each of its incarnations."""

    def __init__(
        self, processes: Mapping[str, Process], now_ns: Callable[[], int], on_death: Callable[[Death], None]
    ) -> None:
        self._processes = processes
        self._now_ns = now_ns
        self._on_death = on_death
        self._last_look_ns = now_ns()
        self._ended: dict[str, int] = {}
        self._over = threading.Event()

    def run(self) -> None:
        """Look until `stop` is called."""
        while not self._over.wait(LOOK_S):
            self.look()

    def stop(self) -> None:
        """Look no more. Idempotent."""
        self._over.set()

    def look(self) -> None:
        """Look at every process once."""
        began_ns = self._now_ns()
        for name, process in self._processes.items():
            pid = process.pid
            if process.is_alive() or self._ended.get(name) == pid or self._over.is_set():
                continue
            self._ended[name] = pid
            # At the last look this incarnation was alive, or did not exist yet.
            self._on_death(Death(name, f"exit code {process.exit_code()}", self._last_look_ns, process.log.name))
        self._last_look_ns = began_ns

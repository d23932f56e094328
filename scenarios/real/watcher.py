"""Detects the end of processes: checks each several times a second, so that its end lies between two known instants."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from chaos.environment import Process
from scenarios.experiment.stage import Death

LOOK_S = 0.1
LINES = 5
LINE_CHARACTERS = 300
TAIL_BYTES = 8192


class Watcher:
    """Reports every process that has ended since the last check: once for each incarnation."""

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
        """Check repeatedly until `stop` is called."""
        while not self._over.wait(LOOK_S):
            self.look()

    def stop(self) -> None:
        """Stop checking. Idempotent."""
        self._over.set()

    def look(self) -> None:
        """Check every process once."""
        began_ns = self._now_ns()
        for name, process in self._processes.items():
            pid = process.pid
            if process.is_alive() or self._ended.get(name) == pid or self._over.is_set():
                continue
            self._ended[name] = pid
            # At the last check this incarnation was alive, or did not exist yet.
            how, lines = f"exit code {process.exit_code()}", last_lines(process.log)
            self._on_death(Death(name, how, self._last_look_ns, process.log.name, lines))
        self._last_look_ns = began_ns


def last_lines(log: Path) -> tuple[str, ...]:
    """The last non-empty lines of a log, each truncated; none if it cannot be read."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - TAIL_BYTES))
            tail = stream.read(TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ()
    return tuple(line[:LINE_CHARACTERS] for line in tail.splitlines() if line.strip())[-LINES:]

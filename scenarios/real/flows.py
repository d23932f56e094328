"""Threads as flows of an experiment, and condition variables between them."""

import threading
from collections.abc import Callable

from chaos.errors import ChaosError
from scenarios.errors import PluginLost, ScenarioError


class ThreadFlow:
    """A thread. An exception of its body is passed to `on_broken` as a sentence: a thread has no caller that could catch it."""

    def __init__(self, name: str, body: Callable[[], None], on_broken: Callable[[str], None]) -> None:
        self._name = name
        self._body = body
        self._on_broken = on_broken
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def is_over(self) -> bool:
        """Whether the thread has ended."""
        return not self._thread.is_alive()

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join()

    def _run(self) -> None:
        try:
            self._body()
        except PluginLost:
            pass  # a problem of the whole run, reported once by Stage.check_plugin
        except (ChaosError, ScenarioError) as error:
            self._on_broken(f"{self._name} has ended early: {error}")
        except (Exception, SystemExit) as error:  # noqa: BLE001 — the edge of a thread: else the error would be lost
            self._on_broken(f"{self._name} has ended early: {error!r}")


class ThreadSignal:
    """A condition variable of threads."""

    def __init__(self) -> None:
        self._condition = threading.Condition()

    def wait_until(self, is_so: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Wait for the condition; False: the time-out came first."""
        with self._condition:
            return self._condition.wait_for(is_so, timeout_s)

    def notify(self) -> None:
        """Let every waiting thread check its condition."""
        with self._condition:
            self._condition.notify_all()

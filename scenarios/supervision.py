"""Keeps the system under test running as a service manager would: a process that ends by itself is started again."""

import threading
import time
from collections.abc import Callable, Mapping

from chaos.environment import Environment, Process
from chaos.errors import ChaosError
from tasklab.tasklab_probe import Recorder

LOOK_S = 0.1
RESTART_AFTER_S = 0.5
RESTARTS_MAX = 10


class Supervisor:
    """Watches the processes; those that a strike has killed are the strike's to start again. Use `with`."""

    def __init__(
        self,
        environment: Environment,
        processes: Mapping[str, Process],
        recorder: Recorder,
        struck: Callable[[], set[str]],
        say: Callable[[str], None],
    ) -> None:
        self._environment = environment
        self._processes = processes
        self._recorder = recorder
        self._struck = struck
        self._say = say
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self.restarts: dict[str, int] = {}
        self.problem = ""

    def __enter__(self) -> "Supervisor":
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        died_s: dict[str, float] = {}
        while not self._over.wait(LOOK_S):
            for name, process in self._processes.items():
                if process.is_alive() or name in self._struck():
                    died_s.pop(name, None)
                elif name not in died_s:
                    died_s[name] = time.monotonic()
                    self._recorder.record("crash", actor=name, detail=f"exit code {process.exit_code()}")
                    self._say(f"{name} has ended by itself (exit code {process.exit_code()}); see {process.log.name}")
                elif time.monotonic() - died_s[name] >= RESTART_AFTER_S:
                    del died_s[name]
                    self._restart(name, process)

    def _restart(self, name: str, process: Process) -> None:
        self.restarts[name] = self.restarts.get(name, 0) + 1
        if self.restarts[name] > RESTARTS_MAX:
            return
        self._recorder.record("restart", actor=name)
        try:
            self._environment.restart_process(process)
        except ChaosError as error:
            self.problem = str(error)

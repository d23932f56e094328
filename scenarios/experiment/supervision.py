"""Keeps the system under test running as a service manager would: a process that ends by itself is started again."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chaos.environment import Environment, Process
from chaos.errors import ChaosError
from scenarios.contract.tasklab_probe import Recorder

LOOK_S = 0.1
RESTART_AFTER_S = 0.5
RESTARTS_MAX = 10


@dataclass(slots=True)
class _Watched:
    """What the supervisor knows of one process; `died_s` on the monotonic clock, None while it runs or a strike holds it down."""

    process: Process
    died_s: float | None = None
    restarts: int = 0
    given_up: bool = False


class Supervisor:
    """Watches the processes; those that a strike has killed are the strike's to start again. Use `with`.

    `problems`: what it could not mend. A system whose processes do not stay up is not a world in which anything can be judged.
    `died`: by process, how often it has ended by itself.
    """

    def __init__(
        self,
        environment: Environment,
        processes: Mapping[str, Process],
        recorder: Recorder,
        struck: Callable[[], set[str]],
        say: Callable[[str], None],
    ) -> None:
        self._environment = environment
        self._watched = {name: _Watched(process) for name, process in processes.items()}
        self._recorder = recorder
        self._struck = struck
        self._say = say
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self.problems: list[str] = []
        self.died: dict[str, int] = {}

    def __enter__(self) -> "Supervisor":
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(LOOK_S):
            self.look(time.monotonic())

    def look(self, now_s: float) -> None:
        """See to every process once: note who has died since the last look, start again who has been dead long enough."""
        for name, watched in self._watched.items():
            if watched.given_up:
                continue
            if watched.process.is_alive() or name in self._struck():
                watched.died_s = None
            elif watched.died_s is None:
                watched.died_s = now_s
                self._note_death(name, watched)
            elif now_s - watched.died_s >= RESTART_AFTER_S:
                watched.died_s = None
                self._restart(name, watched)

    def _note_death(self, name: str, watched: _Watched) -> None:
        how = f"exit code {watched.process.exit_code()}"
        self._recorder.record("crash", actor=name, detail=how)
        self.died[name] = self.died.get(name, 0) + 1
        self._say(f"{name} has ended by itself ({how}); see {watched.process.log.name}")
        if watched.restarts == RESTARTS_MAX:
            self._give_up(
                watched, f"{name} has ended by itself {RESTARTS_MAX + 1} times ({how}): see {watched.process.log}"
            )

    def _restart(self, name: str, watched: _Watched) -> None:
        watched.restarts += 1
        self._recorder.record("restart", actor=name)
        try:
            self._environment.restart_process(watched.process)
        except ChaosError as error:
            self._give_up(watched, str(error))

    def _give_up(self, watched: _Watched, why: str) -> None:
        watched.given_up = True
        self.problems.append(why)

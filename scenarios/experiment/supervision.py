"""Keeps the system under test running as a service manager would: restarts processes that end by themselves."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from chaos.errors import ChaosError
from scenarios.experiment.stage import Death, Flow, Stage
from scenarios.record.run_facts import DeathRecord

RESTART_AFTER_S = 0.5
RESTARTS_MAX = 10


class Supervisor:
    """Restarts processes that ended by themselves; a process killed by a fault is restarted by that fault.

    `planned`: how often a process was killed by its own task, as planned; these restarts do not count towards `restarts_max`.
    `problems`: processes that do not stay up: such a system cannot be judged. `died`: by process, how often it ended by itself.
    `last`: by process, its latest such end. `gone`: a sentence for each such end.
    """

    def __init__(
        self,
        stage: Stage,
        is_struck: Callable[[str], bool],
        *,
        planned: Callable[[str], int] = lambda process: 0,
        restarts_max: int = RESTARTS_MAX,
    ) -> None:
        self._stage = stage
        self._lab = stage.records("lab")
        self._is_struck = is_struck
        self._planned = planned
        self._restarts_max = restarts_max
        self._is_over = False
        self._over = stage.signal()
        self._restarts: list[Flow] = []
        self.problems: list[str] = []
        self.died: Counter[str] = Counter()
        self.last: dict[str, Death] = {}
        self.gone: list[str] = []

    def stop(self) -> None:
        """Restart no process from now on. Idempotent."""
        self._is_over = True
        self._over.notify()
        for flow in self._restarts:
            flow.join()

    def deaths(self) -> list[DeathRecord]:
        """The records of the processes that ended by themselves, for run.json."""
        return [
            DeathRecord(process=name, times=self.died[name], how=death.how, log=death.log, last_lines=death.last_lines)
            for name, death in self.last.items()
        ]

    def note_death(self, death: Death) -> None:
        """Record that a process has ended by itself, and restart it after `RESTART_AFTER_S`. Does not block."""
        if self._is_struck(death.process):
            return
        self._lab.record("crash", actor=death.process, detail=death.how, asked_ns=death.seen_alive_ns)
        self.died[death.process] += 1
        self.last[death.process] = death
        self.gone.append(f"{death.process}: {death.how}")
        self._stage.say(f"{death.process} has ended by itself ({death.how})" + (f"; see {death.log}" * bool(death.log)))
        times = self.died[death.process]
        if times > self._restarts_max + self._planned(death.process):
            self.problems.append(f"{death.process} has ended by itself {times} times ({death.how}): see {death.log}")
        else:
            name = f"restart {death.process}"
            self._restarts.append(self._stage.spawn(name, partial(self._restart, death.process)))

    def _restart(self, process: str) -> None:
        is_over = self._over.wait_until(lambda: self._is_over, RESTART_AFTER_S)
        if is_over or self._is_struck(process) or self._stage.is_alive(process):
            return
        self._lab.record("restart", actor=process, asked_ns=self._stage.now_ns())
        try:
            self._stage.restart(process)
        except ChaosError as error:
            self.problems.append(str(error))

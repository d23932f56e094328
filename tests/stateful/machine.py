"""The rules by which anything may happen to a task system; the same ones in the simulated world and over real services."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from hypothesis.strategies import integers, lists, sampled_from

from chaos.faults import DegradeNetwork, Fault, KillProcess, PauseProcess

TASKS_MAX = 6
OUTCOMES: Mapping[str, Sequence[str]] = {
    "succeeds": (),
    "fails once": ("transient",),
    "fails for good": ("permanent",),
    "fails until it is redriven": ("transient",) * 4,
    "kills its worker once": ("die",),
}
"""What becomes of a task's tries; after these it succeeds."""

any_number = integers(0, TASKS_MAX - 1)
a_moment = sampled_from((0.001, 0.02, 0.3))
"""Seconds that pass after a step, so that the next one meets something that is under way."""


class DrivenWorld(Protocol):
    """A running system to which things happen when it is told so; otherwise only time passes."""

    def submit(self, task: str, payload: Mapping[str, object]) -> None:
        """A client submits the task, under its name as key."""

    def cancel(self, task: str) -> None:
        """A client withdraws it, if it was ever answered."""

    def redrive(self) -> None:
        """A person puts every dead letter back to work."""

    def begin(self, fault: Fault) -> bool:
        """Whether there was something to strike: then it is struck, until `end`."""

    def end(self, fault: Fault) -> None:
        """Lift what has begun."""

    def pass_time(self, seconds: float) -> None:
        """The world goes on for so long."""


class TaskSystemMachine(RuleBasedStateMachine):
    """Submit, resubmit, cancel, redrive; crash, restart, pause, resume, partition, heal; and time passes.

    A subclass opens a world, says which of its processes may be struck, and judges at the end.
    """

    CRASHABLE: ClassVar[Sequence[str]] = ()
    CUTTABLE: ClassVar[Sequence[tuple[str, str]]] = ()
    """Links: a process, and the service that it is cut off from."""

    def open_world(self) -> DrivenWorld:
        """Start the system."""
        raise NotImplementedError

    def judge(self) -> None:
        """The calm has come, everything is healed: let all tasks end, and judge; what is broken is raised, or reported."""
        raise NotImplementedError

    @initialize(first=lists(sampled_from(sorted(OUTCOMES)), min_size=1, max_size=3))
    def begin(self, first: list[str]) -> None:
        self.payloads: dict[str, Mapping[str, object]] = {}
        self.down: list[KillProcess] = []
        self.still: list[PauseProcess] = []
        self.cut: list[DegradeNetwork] = []
        self.world = self.open_world()
        for becomes in first:
            self._submit_new(becomes, 0.05)

    @precondition(lambda self: len(self.payloads) < TASKS_MAX)
    @rule(becomes=sampled_from(sorted(OUTCOMES)), work_s=sampled_from((0.0, 0.05, 0.3)), then_s=a_moment)
    def submit(self, becomes: str, work_s: float, then_s: float) -> None:
        self._submit_new(becomes, work_s)
        self.world.pass_time(then_s)

    @rule(number=any_number, then_s=a_moment)
    def resubmit(self, number: int, then_s: float) -> None:
        task = self._one_of(list(self.payloads), number)
        self.world.submit(task, self.payloads[task])
        self.world.pass_time(then_s)

    @rule(number=any_number, then_s=a_moment)
    def cancel(self, number: int, then_s: float) -> None:
        self.world.cancel(self._one_of(list(self.payloads), number))
        self.world.pass_time(then_s)

    @rule(after_s=sampled_from((0.001, 4.0)), then_s=a_moment)
    def redrive(self, after_s: float, then_s: float) -> None:
        self.world.pass_time(after_s)  # a person comes at once, or when a task may well be dead
        self.world.redrive()
        self.world.pass_time(then_s)

    @precondition(lambda self: self._up())
    @rule(number=any_number, then_s=a_moment)
    def crash(self, number: int, then_s: float) -> None:
        self._strike(KillProcess(self._one_of(self._up(), number)), self.down, then_s)

    @precondition(lambda self: self.down)
    @rule(number=any_number)
    def restart(self, number: int) -> None:
        self._lift(self.down, number)

    @precondition(lambda self: self._up())
    @rule(number=any_number, then_s=a_moment)
    def pause(self, number: int, then_s: float) -> None:
        self._strike(PauseProcess(self._one_of(self._up(), number)), self.still, then_s)

    @precondition(lambda self: self.still)
    @rule(number=any_number)
    def resume(self, number: int) -> None:
        self._lift(self.still, number)

    @precondition(lambda self: self._joined())
    @rule(number=any_number, then_s=a_moment)
    def partition(self, number: int, then_s: float) -> None:
        process, service = self._one_of(self._joined(), number)
        self._strike(DegradeNetwork(process, service, "blackhole"), self.cut, then_s)

    @precondition(lambda self: self.cut)
    @rule(number=any_number)
    def heal(self, number: int) -> None:
        self._lift(self.cut, number)

    @rule(seconds=sampled_from((0.1, 0.7, 2.5)))
    def time_passes(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for faults in (self.cut, self.still, self.down):
            while faults:
                self._lift(faults, 0)
        self.judge()

    def _submit_new(self, becomes: str, work_s: float) -> None:
        task = f"task-{len(self.payloads) + 1}"
        self.payloads[task] = {"task": task, "work_s": work_s, "outcomes": list(OUTCOMES[becomes])}
        self.world.submit(task, self.payloads[task])

    def _up(self) -> list[str]:
        struck = {fault.process for fault in (*self.down, *self.still)}
        return [name for name in self.CRASHABLE if name not in struck]

    def _joined(self) -> list[tuple[str, str]]:
        cut = {(fault.process, fault.service) for fault in self.cut}
        up = self._up()
        return [link for link in self.CUTTABLE if link not in cut and link[0] in up]

    def _strike(self, fault: Fault, open_: list, then_s: float) -> None:
        if self.world.begin(fault):
            open_.append(fault)
            self.world.pass_time(then_s)

    def _lift(self, open_: list, number: int) -> None:
        self.world.end(open_.pop(number % len(open_)))

    @staticmethod
    def _one_of(choices: Sequence, number: int):
        return choices[number % len(choices)]

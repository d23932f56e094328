"""Where an experiment takes place: its time, its flows, its processes, its faults. The experiment itself is written once, on a Stage.

There are two: `scenarios.real.stage` (threads, processes, services) and `scenarios.simulated.stage` (fibers in one process). Every
blocking call blocks the calling thread, or the calling fiber, of that stage.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from chaos.faults import Fault
from chaos.injection import Injection
from scenarios.contract.system import Account, Client
from scenarios.record.history import Event


class Records(Protocol):
    """Where one source of events writes: the lab, the clients, the outside resource."""

    def record(self, event: str, *, actor: str, **fields: Any) -> None:
        """Append one event, stamped now. Fields that are None are left out."""

    def append(self, event: Event) -> None:
        """Append an event that carries its own time."""


class Flow(Protocol):
    """One flow of control: a thread, or a fiber."""

    def is_over(self) -> bool:
        """Whether its body has returned or raised."""

    def join(self) -> None:
        """Wait until it is over."""


class Signal(Protocol):
    """A condition variable: some flows wait for a condition, others notify them when it may have become true."""

    def wait_until(self, is_so: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Wait for the condition; False: `timeout_s` were over first. The condition must not block."""

    def notify(self) -> None:
        """Let every waiting flow look at its condition again. Cheap when none waits."""


@dataclass(frozen=True, slots=True)
class Death:
    """A process that ended by itself, after `seen_alive_ns` and before now. `log`: the name of its log; `last_lines`: of this log."""

    process: str
    how: str
    seen_alive_ns: int
    log: str = ""
    last_lines: tuple[str, ...] = ()


class Stage(Protocol):
    """All that an experiment needs of the world that it takes place in."""

    def now_ns(self) -> int:
        """Nanoseconds since the run began."""

    def since_start_ns(self, at_ns: int) -> int:
        """An instant on the clock of the injectors (`chaos.injection.Evidence.at_ns`), as nanoseconds since the run began."""

    def sleep(self, seconds: float) -> None:
        """Let time pass for the calling flow."""

    def spawn(self, name: str, body: Callable[[], None]) -> Flow:
        """Start a flow. What it raises is a problem of the run, and named."""

    def signal(self) -> Signal:
        """A new one."""

    def records(self, source: str) -> Records:
        """The history of one source: `lab`, `client`, `outside`, `database` or `broker`."""

    def say(self, text: str) -> None:
        """A line for the person who watches."""

    def begin(self, phase: str) -> None:
        """Note that a phase of the run begins now."""

    def client(self, name: str) -> Client:
        """A new client of the system, for one flow.

        Raises:
            RunFailed: the plug-in gave none.
        """

    def check_plugin(self) -> None:
        """Look whether the plug-in of the system can still answer.

        Raises:
            RunFailed: it cannot.
        """

    def abandon_plugin(self) -> None:
        """Let no flow wait for the plug-in any longer: the run has failed, or was interrupted."""

    def start_processes(self) -> None:
        """Start every process of the system.

        Raises:
            ChaosError, RunFailed: one did not start.
        """

    def stop_processes(self, timeout_s: float) -> None:
        """Stop every process that was started: after `timeout_s` by force. Idempotent."""

    def check_processes(self) -> None:
        """Look whether every process still runs.

        Raises:
            ProcessFailed: one has ended.
        """

    def restart(self, process: str) -> None:
        """Start a process again.

        Raises:
            ChaosError: it could not be started.
        """

    def is_alive(self, process: str) -> bool:
        """Whether it runs; a paused process does."""

    def watch_processes(self, on_death: Callable[[Death], None]) -> None:
        """From now on report every process that ends by itself. `on_death` must not block."""

    def unwatch_processes(self) -> None:
        """Report no more. Idempotent."""

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """By process, in the order in which they were started: all that it does."""

    def injection(self, fault: Fault, number: int) -> Injection:
        """The fault of strike `number` (counted from 0), aimed at a process by its name, ready to begin.

        Raises:
            ChaosError: this stage cannot do it, or there is nothing to strike.
        """

    def own_faults_pending(self) -> bool:
        """Whether faults of the stage's own (those of single calls) still wait for their moment."""

    def holds_down(self, process: str) -> bool:
        """Whether a fault of the stage's own has killed the process and is going to start it again."""

    def calm(self) -> None:
        """After the storm: end what disturbs, and see that every service answers.

        Raises:
            ChaosError: one does not.
        """

    def account(self) -> Account | None:
        """The system's list of its tasks; None where it keeps none.

        Raises:
            RunFailed: the plug-in failed.
        """

    def places(self) -> Mapping[str, str]:
        """By task, where the system says that it is; empty where it does not say.

        Raises:
            RunFailed: the plug-in failed.
        """

    def trail(self) -> Sequence[Event]:
        """The system's own audit trail, on the clock of the run; empty where it keeps none."""

    def problems(self) -> Sequence[str]:
        """Flows that broke, a sentence each."""

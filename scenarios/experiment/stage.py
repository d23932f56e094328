"""The Stage protocol: the time, flows, processes and faults of an experiment. The experiment itself is written once, on a Stage.

There are two: `scenarios.real.stage` (threads, processes, services) and `scenarios.simulated.stage` (fibers in one process). Every
blocking call blocks the calling thread, or the calling fiber, of that stage.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from chaos.faults import Fault
from chaos.injection import Injection, Interruption
from scenarios.contract.system import Account, Client
from scenarios.record.history import Event


class Records(Protocol):
    """The history of one source of events: the lab, the clients, the outside resource."""

    def record(self, event: str, *, actor: str, **fields: Any) -> None:
        """Append one event with the current time. Fields that are None are left out."""

    def append(self, event: Event) -> None:
        """Append an event that carries its own time."""


class Flow(Protocol):
    """One flow of control: a thread, or a fiber."""

    def is_over(self) -> bool:
        """Whether its body has returned or raised."""

    def join(self) -> None:
        """Wait until it is over."""


class Signal(Protocol):
    """A condition variable: flows wait for a condition, and others notify them when it may have become true."""

    def wait_until(self, is_so: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Wait for the condition; False: the time-out came first. The condition must not block."""

    def notify(self) -> None:
        """Let every waiting flow check its condition again. Cheap when none waits."""


@dataclass(frozen=True, slots=True)
class Death:
    """A process that ended by itself, after `seen_alive_ns` and before now. `log`: name of its log; `last_lines`: end of that log."""

    process: str
    how: str
    seen_alive_ns: int
    log: str = ""
    last_lines: tuple[str, ...] = ()


class Stage(Protocol):
    """Everything that an experiment needs from its world."""

    def now_ns(self) -> int:
        """Nanoseconds since the start of the run."""

    def since_start_ns(self, at_ns: int) -> int:
        """An instant on the clock of the injectors (`chaos.injection.Evidence.at_ns`), as nanoseconds since the start of the run."""

    def sleep(self, seconds: float) -> None:
        """Block the calling flow for this time."""

    def spawn(self, name: str, body: Callable[[], None]) -> Flow:
        """Start a flow. An exception in it becomes a problem of the run."""

    def signal(self) -> Signal:
        """A new signal."""

    def records(self, source: str) -> Records:
        """The history of one source: `lab`, `client`, `outside`, `database` or `broker`."""

    def say(self, text: str) -> None:
        """Print a line on the terminal."""

    def begin(self, phase: str) -> None:
        """Record the begin of a phase of the run."""

    def client(self, name: str) -> Client:
        """A new client of the system, for one flow.

        Raises:
            RunFailed: the plug-in returned none.
        """

    def check_plugin(self) -> None:
        """Check that the plug-in of the system can still answer.

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
        """Check that every process still runs.

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
        """Stop reporting. Idempotent."""

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """All roles of each process, by name, in the order of their start."""

    def injection(self, fault: Fault, number: int) -> Injection:
        """The fault of strike `number` (counted from 0), aimed at a process by its name, ready to begin.

        Raises:
            ChaosError: this stage cannot do it, or there is no target.
        """

    def own_faults_pending(self) -> bool:
        """Whether call faults, which belong to the stage, still wait for their calls."""

    def holds_down(self, process: str) -> bool:
        """Whether a call fault has killed the process and will restart it."""

    def calm(self) -> None:
        """After the storm: end every disturbance, and check that every service answers.

        Raises:
            ChaosError: a service does not answer.
        """

    def ended_attempts(self) -> tuple[Collection[str], Collection[str]]:
        """By the record of its workers, for a system that lists nothing: tasks that succeeded, tasks that failed as often as they may."""

    def account(self) -> Account | None:
        """The system's list of its tasks; None if it has none.

        Raises:
            RunFailed: the plug-in failed.
        """

    def places(self) -> Mapping[str, str]:
        """By task, where the system says that it is; empty where it does not say.

        Raises:
            RunFailed: the plug-in failed.
        """

    def trail(self) -> Sequence[Event]:
        """The system's own audit trail, on the clock of the run; empty if it has none."""

    def interruptions(self) -> Sequence[Interruption]:
        """The connections of processes to the broker that ended with unsettled deliveries, so far; empty if they are not followed."""

    def problems(self) -> Sequence[str]:
        """Flows that failed, a sentence each."""

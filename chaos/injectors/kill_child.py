"""kill -9 of a child of a process of the system under test: one that has none itself and is connected, as a process of a pool is."""

import signal
import time
from contextlib import suppress

import psutil

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite
from chaos.faults import KillChild
from chaos.hosting.processes import HostedProcess
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector, process_of

FOUND_WITHIN_S = 3.0
LOOK_S = 0.01


class ChildKill:
    """SIGKILL to the child that was started last, of those that may run a task. The process itself goes on."""

    def __init__(self, process: HostedProcess) -> None:
        self.target = process.spec.name
        self._process = process
        self._killed: psutil.Process | None = None

    def begin(self) -> None:
        """Kill it, as soon as there is one.

        Raises:
            FaultDidNotBite: there is none.
        """
        if problem := wait(self._missing, Deadline.after(FOUND_WITHIN_S), every_s=LOOK_S):
            raise FaultDidNotBite(KillChild.name, self.target, problem)

    def await_bite(self, timeout_s: float) -> Evidence:
        """Check that it has ended."""
        assert self._killed is not None, "a fault bites after it has begun"
        killed = self._killed
        if problem := wait(lambda: "it still runs" if _runs(killed) else "", Deadline.after(timeout_s)):
            raise FaultDidNotBite(KillChild.name, self.target, problem)
        return Evidence(
            f"pid {killed.pid}, a child of pid {self._process.pid}, ended by SIGKILL", at_ns=time.monotonic_ns()
        )

    def end(self) -> None:
        """Nothing is lifted: its parent has to do without it, or to start another one."""

    def await_healed(self, timeout_s: float) -> None:
        """Healed as soon as it was killed."""

    def _missing(self) -> str:
        with suppress(psutil.Error):
            below = psutil.Process(self._process.pid).children(recursive=True)
            candidates = [child for child in below if _may_run_a_task(child)]
            if candidates:
                self._killed = max(candidates, key=lambda child: child.create_time())
                self._killed.send_signal(signal.SIGKILL)
                return ""
        return f"pid {self._process.pid} has no child with a connection: its tasks run in the process itself"


def _may_run_a_task(child: psutil.Process) -> bool:
    """Whether it has no children, and a connection: a helper of Python's multiprocessing has none."""
    with suppress(psutil.Error):
        connected = any(one.status == psutil.CONN_ESTABLISHED for one in child.net_connections("tcp"))
        return connected and not child.children()
    return False


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def inject(fault: KillChild, context: InjectionContext) -> ChildKill:
    """The injection of one such fault."""
    return ChildKill(process_of(fault.process, context.processes))


INJECTOR = Injector(inject, needs=frozenset({Capability.PROCESSES}))

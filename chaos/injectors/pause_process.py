"""SIGSTOP of a process of the system under test, and of all its descendants."""

import signal
from collections.abc import Iterator
from pathlib import Path

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal
from chaos.faults import PauseProcess
from chaos.hosting.processes import HostedProcess
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector, process_of

STOPPED = frozenset("Tt")
ENDED = frozenset("ZX")


class ProcessPause:
    """SIGSTOP to a process and all its descendants; heals by SIGCONT."""

    def __init__(self, process: HostedProcess) -> None:
        self.target = process.spec.name
        self._process = process
        self._child = process.child
        self._stopped: set[int] = set()
        self._problem = ""
        self._begun = False
        self._ended = False

    def begin(self) -> None:
        """Choose the current incarnation; `await_bite` stops it."""
        self._begun = True
        self._child = self._process.child

    def await_bite(self, timeout_s: float) -> Evidence:
        """Check that every thread of it and of its descendants is stopped, including those forked meanwhile."""
        if problem := wait(self._missing, Deadline.after(timeout_s), every_s=0.002):
            raise FaultDidNotBite(PauseProcess.name, self.target, problem)
        threads = sum(len(list(_thread_states(pid))) for pid in self._stopped)
        return Evidence(
            f"{len(self._stopped)} processes with {threads} threads are stopped (pid {self._child.pid} and below)"
        )

    def end(self) -> None:
        """Check that it is still stopped, and resume it; `await_healed` raises if it was not stopped."""
        if self._begun and not self._ended:
            self._ended = True
            self._problem = self._running_again()
            self._child.signal_tree(signal.SIGCONT)

    def await_healed(self, timeout_s: float) -> None:
        """Check that every thread of it and of its descendants runs again.

        Raises:
            FaultDidNotBite: the pause had already ended before `end`.
            FaultDidNotHeal: it is still stopped, or has ended.
        """
        if self._problem:
            raise FaultDidNotBite(PauseProcess.name, self.target, self._problem)
        if problem := wait(self._still_stopped, Deadline.after(timeout_s)):
            raise FaultDidNotHeal(PauseProcess.name, self.target, problem)

    def _missing(self) -> str:
        """Stop every process that exists now; done when a second pass finds no new process and every thread is stopped."""
        if self._child.exit_code is not None:
            raise FaultDidNotBite(
                PauseProcess.name, self.target, f"it has ended, with exit code {self._child.exit_code}"
            )
        found = set(self._child.signal_tree(signal.SIGSTOP))
        new = found - self._stopped
        self._stopped = found
        return f"processes {sorted(new)} are just being stopped" if new else self._running()

    def _running(self) -> str:
        running = [pid for pid in sorted(self._stopped) if not set(_thread_states(pid)) <= STOPPED | ENDED]
        return f"threads of {running} still run" if running else ""

    def _running_again(self) -> str:
        if self._child.exit_code is not None:
            return f"it ended during the pause, with exit code {self._child.exit_code}"
        running = self._running()
        return f"{running}: another program has resumed it" if running and self._stopped else ""

    def _still_stopped(self) -> str:
        if self._child.exit_code is not None:
            raise FaultDidNotHeal(
                PauseProcess.name, self.target, f"it has ended, with exit code {self._child.exit_code}"
            )
        stopped = [pid for pid in sorted(self._stopped) if set(_thread_states(pid)) & STOPPED]
        return f"threads of {stopped} are still stopped" if stopped else ""


def _thread_states(pid: int) -> Iterator[str]:
    """The state letter of each thread, from /proc; empty if the process is gone."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            yield (thread / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue


def inject(fault: PauseProcess, context: InjectionContext) -> ProcessPause:
    """The injection of one such fault."""
    return ProcessPause(process_of(fault.process, context.processes))


INJECTOR = Injector(inject, needs=frozenset({Capability.PROCESSES}))

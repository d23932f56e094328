"""Faults of processes of the system under test: kill -9 and SIGSTOP, of the process and all its descendants."""

import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

from chaos.deadline import Deadline, wait
from chaos.errors import ChaosError, FaultDidNotBite, FaultDidNotHeal
from chaos.faults import KillProcess, PauseProcess
from chaos.hosting.processes import HostedProcess, ProcessHost
from chaos.injection import Evidence

KILL_TIMEOUT_S = 10.0
SETTLE_S = 0.2
"""How long a restarted process has to be alive to count as healed: one that cannot start has usually ended by then."""

STOPPED = frozenset("Tt")
ENDED = frozenset("ZX")


class ProcessKill:
    """kill -9 of a process with all its descendants, as when its container or machine dies; heals by starting it again."""

    def __init__(self, host: ProcessHost, process: HostedProcess) -> None:
        self.target = process.spec.name
        self._host = host
        self._process = process
        self._child = process.child
        self._killed: list[int] = []
        self._begun = False
        self._ended = False

    def begin(self) -> None:
        """Kill."""
        self._begun = True
        self._child = self._process.child
        self._killed = self._child.kill_tree(KILL_TIMEOUT_S)

    def await_bite(self, timeout_s: float) -> Evidence:
        """See that signal 9, and nothing else, has ended it."""
        code = self._child.wait(timeout_s)
        if code != -signal.SIGKILL or self._child.pid not in self._killed:
            seen = "it still runs" if code is None else f"it had ended by itself, with exit code {code}"
            raise FaultDidNotBite(KillProcess.name, self.target, seen)
        below = len(self._killed) - 1
        return Evidence(f"pid {self._child.pid} ended by SIGKILL" + (f", {below} descendants with it" if below else ""))

    def end(self) -> None:
        """Start it again, unless that was done already."""
        if self._begun and not self._ended:
            self._ended = True
            if not self._process.is_alive():
                self._host.restart(self._process)

    def await_healed(self, timeout_s: float) -> None:
        """See that the new incarnation stays alive for a moment."""
        code = self._process.child.wait(min(SETTLE_S, timeout_s))
        if code is not None:
            words = self._process.child.log_tail(5)
            raise FaultDidNotHeal(
                KillProcess.name, self.target, f"started again, it ended with exit code {code}\n{words}"
            )


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
        """Stop."""
        self._begun = True
        self._child = self._process.child

    def await_bite(self, timeout_s: float) -> Evidence:
        """See every thread of it and of its descendants stopped, those included that were forked meanwhile."""
        if problem := wait(self._missing, Deadline.after(timeout_s), every_s=0.002):
            raise FaultDidNotBite(PauseProcess.name, self.target, problem)
        threads = sum(len(list(_thread_states(pid))) for pid in self._stopped)
        return Evidence(
            f"{len(self._stopped)} processes with {threads} threads are stopped (pid {self._child.pid} and below)"
        )

    def end(self) -> None:
        """See that it is still stopped, and let it go on. What was seen is told by `await_healed`."""
        if self._begun and not self._ended:
            self._ended = True
            self._problem = self._running_again()
            self._child.signal_tree(signal.SIGCONT)

    def await_healed(self, timeout_s: float) -> None:
        """See every thread of it and of its descendants go on.

        Raises:
            FaultDidNotBite: when the pause was to end, it was over already.
            FaultDidNotHeal: it is still stopped, or has ended.
        """
        if self._problem:
            raise FaultDidNotBite(PauseProcess.name, self.target, self._problem)
        if problem := wait(self._still_stopped, Deadline.after(timeout_s)):
            raise FaultDidNotHeal(PauseProcess.name, self.target, problem)

    def _missing(self) -> str:
        """Stop all that is there now; done when a second look finds nobody else, and every thread stopped."""
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
        return f"{running}: somebody has resumed it" if running and self._stopped else ""

    def _still_stopped(self) -> str:
        if self._child.exit_code is not None:
            raise FaultDidNotHeal(
                PauseProcess.name, self.target, f"it has ended, with exit code {self._child.exit_code}"
            )
        stopped = [pid for pid in sorted(self._stopped) if set(_thread_states(pid)) & STOPPED]
        return f"threads of {stopped} are still stopped" if stopped else ""


def resolve(name: str, processes: Mapping[str, HostedProcess]) -> HostedProcess:
    """The process of that name, or else the first that plays that role.

    Raises:
        ChaosError: there is none.
    """
    if name in processes:
        return processes[name]
    found = next((process for process in processes.values() if name in process.spec.roles), None)
    if found is None:
        raise ChaosError(
            f"no process is called {name!r} or plays that role; there are: {', '.join(processes) or 'none'}"
        )
    return found


def _thread_states(pid: int) -> Iterator[str]:
    """The state letter of each thread, as /proc shows it; nothing if the process is gone."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            yield (thread / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue

"""kill -9 of a process of the system under test, with all its descendants."""

import signal

from chaos.errors import FaultDidNotBite, FaultDidNotHeal
from chaos.faults import KillProcess
from chaos.hosting.processes import HostedProcess, ProcessHost
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector, process_of

KILL_TIMEOUT_S = 10.0
SETTLE_S = 0.2
"""How long a restarted process has to stay alive to count as healed; a process that cannot start usually ends sooner."""


class ProcessKill:
    """kill -9 of a process with all its descendants, as when its container or machine dies; heals by starting it again."""

    def __init__(self, host: ProcessHost, process: HostedProcess, fault: str = KillProcess.name) -> None:
        self._fault = fault
        self.target = process.spec.name
        self._host = host
        self._process = process
        self._child = process.child
        self._killed: list[int] = []
        self._begun = False
        self._ended = False

    def begin(self) -> None:
        """SIGKILL, until none is left."""
        self._begun = True
        self._child = self._process.child
        self._killed = self._child.kill_tree(KILL_TIMEOUT_S)

    def await_bite(self, timeout_s: float) -> Evidence:
        """Check that signal 9 has ended it."""
        code = self._child.wait(timeout_s)
        if code != -signal.SIGKILL or self._child.pid not in self._killed:
            seen = "it still runs" if code is None else f"it had ended by itself, with exit code {code}"
            raise FaultDidNotBite(self._fault, self.target, seen)
        below = len(self._killed) - 1
        with_it = f", {below} descendants with it" if below else ""
        return Evidence(f"pid {self._child.pid} ended by SIGKILL{with_it}", at_ns=self._child.ended_ns)

    def end(self) -> None:
        """Start it again, unless it runs already."""
        if self._begun and not self._ended:
            self._ended = True
            if not self._process.is_alive():
                self._host.restart(self._process)

    def await_healed(self, timeout_s: float) -> None:
        """Check that the new incarnation stays alive for `SETTLE_S`."""
        code = self._process.child.wait(min(SETTLE_S, timeout_s))
        if code is not None:
            words = self._process.child.log_tail(5)
            raise FaultDidNotHeal(
                KillProcess.name, self.target, f"started again, it ended with exit code {code}\n{words}"
            )


def inject(fault: KillProcess, context: InjectionContext) -> ProcessKill:
    """The injection of one such fault."""
    return ProcessKill(context.host, process_of(fault.process, context.processes))


INJECTOR = Injector(inject, needs=frozenset({Capability.PROCESSES}))

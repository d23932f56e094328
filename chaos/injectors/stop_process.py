"""The stop signal of a process of the system under test; what is left after the time of grace is killed."""

import signal
import time

from chaos.errors import FaultDidNotBite
from chaos.faults import StopProcess
from chaos.hosting.processes import HostedProcess, ProcessHost
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector, process_of
from chaos.injectors.kill_process import KILL_TIMEOUT_S, ProcessKill


class ProcessStop(ProcessKill):
    """As a service manager stops a process; heals by starting it again."""

    def __init__(self, fault: StopProcess, host: ProcessHost, process: HostedProcess) -> None:
        super().__init__(host, process, StopProcess.name)
        self._signal = signal.Signals[process.spec.stop_signal]
        self._left = fault.signals
        self._is_hurried = fault.signals > 1
        self._grace_s = fault.grace_s
        self._asked_s = 0.0

    def begin(self) -> None:
        """Send the first signal.

        Raises:
            FaultDidNotBite: it has ended already.
        """
        self._begun = True
        self._child = self._process.child
        self._asked_s = time.monotonic()
        if not self._send():
            raise FaultDidNotBite(self._fault, self.target, "it has ended already")

    def await_bite(self, timeout_s: float) -> Evidence:
        """Send the other signals, and wait until it has ended, by itself or by SIGKILL."""
        while self._left and self._child.wait(StopProcess.AGAIN_S) is None:
            self._send()
        code = self._child.wait(max(0.0, self._asked_s + min(self._grace_s, timeout_s) - time.monotonic()))
        took_s = time.monotonic() - self._asked_s
        left = self._child.kill_tree(KILL_TIMEOUT_S)
        how = f"ended with exit code {code}" if code is not None else "did not end, and was killed"
        with_it = f"; {len(left)} processes left were killed" if code is not None and left else ""
        return Evidence(
            f"pid {self._child.pid} got {self._signal.name} and {how} after {took_s:.1f} s{with_it}",
            at_ns=self._child.ended_ns,
            is_clean=code is not None and not left and not self._is_hurried,
        )

    def _send(self) -> bool:
        self._left -= 1
        return self._child.signal(self._signal)


def inject(fault: StopProcess, context: InjectionContext) -> ProcessStop:
    """The injection of one such fault."""
    return ProcessStop(fault, context.host, process_of(fault.process, context.processes))


INJECTOR = Injector(inject, needs=frozenset({Capability.PROCESSES}))

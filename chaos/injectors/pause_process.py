"""SIGSTOP of a process of the system under test, and of all its descendants."""

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal
from chaos.faults import PauseProcess
from chaos.hosting.processes import HostedProcess
from chaos.hosting.stopped_tree import StoppedTree
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector, process_of


class ProcessPause:
    """SIGSTOP to a process and all its descendants; heals by SIGCONT."""

    def __init__(self, process: HostedProcess) -> None:
        self.target = process.spec.name
        self._process = process
        self._tree: StoppedTree | None = None
        self._problem = ""
        self._ended = False

    def begin(self) -> None:
        """Choose the current incarnation; `await_bite` stops it."""
        self._tree = StoppedTree(self._process.child)

    def await_bite(self, timeout_s: float) -> Evidence:
        """Check that every thread of it and of its descendants is stopped, including those forked meanwhile."""
        tree = self._chosen
        if problem := wait(self._missing, Deadline.after(timeout_s), every_s=0.002):
            raise FaultDidNotBite(PauseProcess.name, self.target, problem)
        return Evidence(
            f"{len(tree.pids)} processes with {tree.threads} threads are stopped (pid {tree.child.pid} and below)"
        )

    def end(self) -> None:
        """Check that it is still stopped, and resume it; `await_healed` raises if it was not stopped."""
        if self._tree is not None and not self._ended:
            self._ended = True
            self._problem = self._tree.running_again()
            self._tree.resume()

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

    @property
    def _chosen(self) -> StoppedTree:
        assert self._tree is not None, "it was not begun"
        return self._tree

    def _missing(self) -> str:
        if ended := self._chosen.ended():
            raise FaultDidNotBite(PauseProcess.name, self.target, ended)
        return self._chosen.stop()

    def _still_stopped(self) -> str:
        if ended := self._chosen.ended():
            raise FaultDidNotHeal(PauseProcess.name, self.target, ended)
        return self._chosen.still_stopped()


def inject(fault: PauseProcess, context: InjectionContext) -> ProcessPause:
    """The injection of one such fault."""
    return ProcessPause(process_of(fault.process, context.processes))


INJECTOR = Injector(inject, needs=frozenset({Capability.PROCESSES}))

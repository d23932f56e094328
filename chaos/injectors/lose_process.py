"""kill -9 of a process of the system under test, with all its descendants; it never comes back."""

from chaos.faults import LoseProcess
from chaos.injectors.injector import Capability, InjectionContext, Injector, process_of
from chaos.injectors.kill_process import ProcessKill


class ProcessLoss(ProcessKill):
    """As `ProcessKill`, and over at once: nothing starts the process again."""

    def end(self) -> None:
        """Nothing is lifted: the others have to do without it."""

    def await_healed(self, timeout_s: float) -> None:
        """Healed as soon as it was killed."""


def inject(fault: LoseProcess, context: InjectionContext) -> ProcessLoss:
    """The injection of one such fault."""
    return ProcessLoss(context.host, process_of(fault.process, context.processes), LoseProcess.name)


INJECTOR = Injector(inject, needs=frozenset({Capability.PROCESSES}))

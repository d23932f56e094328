"""SIGSTOP of the processes of a service of the lab's own, or a paused container."""

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal, ServiceUnavailable
from chaos.faults import PauseService
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector
from chaos.services.service import OwnService


class ServicePause:
    """A server stands still: connections to it stay open and are accepted, and nothing is answered. Heals by letting it go on."""

    def __init__(self, service: OwnService) -> None:
        self.target: str = service.name
        self._service = service
        self._begun = False
        self._ended = False

    def begin(self) -> None:
        """Stop everything that holds its data."""
        self._begun = True
        self._service.pause()

    def await_bite(self, timeout_s: float) -> Evidence:
        """See every process stopped."""
        if problem := wait(self._still_runs, Deadline.after(timeout_s)):
            raise FaultDidNotBite(PauseService.name, self.target, problem)
        return Evidence(f"{self.target} is stopped")

    def end(self) -> None:
        """Let it go on; `await_healed` waits for it."""
        if self._begun and not self._ended:
            self._ended = True
            self._service.resume()

    def await_healed(self, timeout_s: float) -> None:
        """See a full round trip through it."""
        try:
            self._service.await_ready(Deadline.after(timeout_s))
        except ServiceUnavailable as error:
            raise FaultDidNotHeal(PauseService.name, self.target, str(error)) from error

    def _still_runs(self) -> str:
        return "" if self._service.is_paused() else "its processes still run"


def inject(fault: PauseService, context: InjectionContext) -> ServicePause:
    """The injection of one such fault."""
    return ServicePause(context.own_services[fault.service])


INJECTOR = Injector(inject, needs=frozenset({Capability.OWN_SERVICES}))

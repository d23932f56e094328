"""SIGSTOP of the processes of a service of the lab's own, or a paused container."""

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal, ServiceUnavailable
from chaos.faults import PauseService
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector
from chaos.services.service import OwnService


class ServicePause:
    """A server is paused: connections to it stay open and are accepted, and no request is answered. Heals by resuming it."""

    def __init__(self, service: OwnService) -> None:
        self.target: str = service.name
        self._service = service
        self._problem = ""
        self._begun = False
        self._ended = False

    def begin(self) -> None:
        """Stop all processes that hold its data; `await_bite` stops those that they start meanwhile."""
        self._begun = True
        self._service.pause()

    def await_bite(self, timeout_s: float) -> Evidence:
        """Check that every process is stopped."""
        if problem := wait(self._service.pause, Deadline.after(timeout_s)):
            raise FaultDidNotBite(PauseService.name, self.target, problem)
        return Evidence(f"{self.target} is stopped")

    def end(self) -> None:
        """Check that it is still stopped, and resume it; `await_healed` raises if it was not stopped."""
        if self._begun and not self._ended:
            self._ended = True
            self._problem = self._service.running_again()
            self._service.resume()

    def await_healed(self, timeout_s: float) -> None:
        """Check a full round trip through it.

        Raises:
            FaultDidNotBite: the pause had already ended before `end`.
            FaultDidNotHeal: it does not answer.
        """
        if self._problem:
            raise FaultDidNotBite(PauseService.name, self.target, self._problem)
        try:
            self._service.await_ready(Deadline.after(timeout_s))
        except ServiceUnavailable as error:
            raise FaultDidNotHeal(PauseService.name, self.target, str(error)) from error


def inject(fault: PauseService, context: InjectionContext) -> ServicePause:
    """The injection of one such fault."""
    return ServicePause(context.own_services[fault.service])


def refusal(fault: PauseService, capabilities: frozenset[Capability]) -> str:
    """A Redis watched by Sentinels does not stand still."""
    is_watched = fault.service == "redis" and Capability.SENTINELS in capabilities
    return PauseService.FAILED_OVER if is_watched else ""


INJECTOR = Injector(inject, needs=frozenset({Capability.OWN_SERVICES}), refusal=refusal)

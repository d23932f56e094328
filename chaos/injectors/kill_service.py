"""kill -9 of a service that the lab runs."""

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal, ServiceUnavailable
from chaos.faults import KillService
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector
from chaos.services.service import OwnService


class ServiceKill:
    """kill -9 of a server with all its descendants; heals by starting it again on the same ports and data."""

    fault = KillService.name

    def __init__(self, service: OwnService) -> None:
        self.target: str = service.name
        self._service = service
        self._evidence = ""
        self._begun = False
        self._ended = False

    def begin(self) -> None:
        """SIGKILL to every process that holds its data."""
        self._begun = True
        self._evidence = self._service.kill()

    def await_bite(self, timeout_s: float) -> Evidence:
        """Check that the processes are gone and connections are refused."""
        problem = wait(
            lambda: "" if self._service.is_gone() else "its port still accepts connections", Deadline.after(timeout_s)
        )
        if problem:
            raise FaultDidNotBite(self.fault, self.target, problem)
        ports = ", ".join(map(str, self._service.data_ports))
        return Evidence(f"{self._evidence}; connections to port {ports} are refused")

    def end(self) -> None:
        """Start it again; `await_healed` waits for it."""
        if self._begun and not self._ended:
            self._ended = True
            self._service.respawn()

    def await_healed(self, timeout_s: float) -> None:
        """Check a full round trip through it, and that it has lost no confirmed data."""
        try:
            self._service.await_ready(Deadline.after(timeout_s))
        except ServiceUnavailable as error:
            raise FaultDidNotHeal(self.fault, self.target, str(error)) from error
        if cost := self._service.confirmed_data_lost_by_kill():
            raise FaultDidNotHeal(self.fault, self.target, cost)


def inject(fault: KillService, context: InjectionContext) -> ServiceKill:
    """The injection of one such fault."""
    return ServiceKill(context.own_services[fault.service])


INJECTOR = Injector(inject, needs=frozenset({Capability.OWN_SERVICES}))

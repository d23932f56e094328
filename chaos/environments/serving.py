"""What environments share that run services of their own: starting them in parallel, giving their addresses, killing them."""

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from types import MappingProxyType

from chaos.deadline import Deadline
from chaos.environment import SERVICE_NAMES, ServiceName, Services
from chaos.environments.hosted import HostedEnvironment
from chaos.errors import ChaosError
from chaos.faults import Fault, KillService
from chaos.hosting.processes import HostedProcess
from chaos.injection import Injection
from chaos.injectors.services import ServiceKill
from chaos.services.service import OwnService

START_TIMEOUT_S = 60.0


class ServingEnvironment(HostedEnvironment):
    """Processes, and the services that they need, started by the lab and gone with it.

    `services`: those to start; the others are not offered. One run at a time: a `provision` closes the links of the run before.
    """

    def __init__(
        self, services: Iterable[ServiceName] = SERVICE_NAMES, *, start_timeout_s: float = START_TIMEOUT_S
    ) -> None:
        super().__init__()
        wanted = set(services)
        if unknown := wanted - set(SERVICE_NAMES):
            raise ChaosError(f"no service is called {', '.join(sorted(unknown))}; there are {', '.join(SERVICE_NAMES)}")
        self.offers = frozenset(wanted)
        self._start_timeout_s = start_timeout_s
        self._startup_s: dict[str, float] = {}
        self._services: Sequence[OwnService] = ()

    @abstractmethod
    def _make_services(self) -> Sequence[OwnService]:
        """Those in `offers`, not yet started."""

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered a full round trip."""
        return MappingProxyType(self._startup_s)

    def versions(self) -> Mapping[str, str]:
        """Version of each service, as it says itself."""
        return {**{service.name: service.version() for service in self._services}, **super().versions()}

    def check_health(self, timeout_s: float) -> None:
        """See `Environment.check_health`. One deadline for all services."""
        super().check_health(timeout_s)
        deadline = Deadline.after(timeout_s)
        for service in self._services:
            service.await_ready(deadline)

    def _start_services(self) -> None:
        self._services = self._make_services()
        deadline = Deadline.after(self._start_timeout_s)
        pool = ThreadPoolExecutor(len(SERVICE_NAMES), thread_name_prefix="start")
        try:
            starts = [pool.submit(self._start, service, deadline) for service in self._services]
            for start in wait_for(starts, return_when=FIRST_EXCEPTION).done:
                start.result()
        finally:
            # Not waiting: after a failure the others end as soon as the environment is left, and that is the next thing done.
            pool.shutdown(wait=False)

    def _start(self, service: OwnService, deadline: Deadline) -> None:
        began_s = time.monotonic()
        service.start(deadline)
        self._startup_s[service.name] = round(time.monotonic() - began_s, 3)

    def _fill(self, services: Services) -> Services:
        for service in self._services:
            services = service.provide(services)
        return services

    def _service_injection(self, fault: Fault, services: Services, processes: Mapping[str, HostedProcess]) -> Injection:
        if isinstance(fault, KillService):
            return ServiceKill(self._service(fault.service))
        return super()._service_injection(fault, services, processes)

    def _service(self, name: str) -> OwnService:
        for service in self._services:
            if service.name == name:
                return service
        raise ChaosError(f"this environment has no service {name!r}; it has {', '.join(sorted(self.offers)) or 'none'}")

"""The base of environments that run their own services: start them in parallel, provide their addresses."""

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
from chaos.services.service import OwnService

START_TIMEOUT_S = 60.0


class ServingEnvironment(HostedEnvironment):
    """Processes and the services that they need, started by the lab and removed with it.

    `services`: those to start; the others are not offered. One run at a time: `provision` closes the links of the previous run.
    """

    def __init__(
        self, services: Iterable[ServiceName] = SERVICE_NAMES, *, start_timeout_s: float = START_TIMEOUT_S
    ) -> None:
        super().__init__()
        wanted = set(services)
        if unknown := wanted - set(SERVICE_NAMES):
            raise ChaosError(
                f"no service is called {', '.join(sorted(unknown))}; the services are {', '.join(SERVICE_NAMES)}"
            )
        self.offers = frozenset(wanted)
        self._start_timeout_s = start_timeout_s
        self._startup_s: dict[str, float] = {}
        self._services: Sequence[OwnService] = ()

    @abstractmethod
    def _make_services(self) -> Sequence[OwnService]:
        """The services in `offers`, not yet started."""

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered a full round trip."""
        return MappingProxyType(self._startup_s)

    def versions(self) -> Mapping[str, str]:
        """Version of each service, as the service reports it."""
        return {**{service.name: service.version() for service in self._services}, **super().versions()}

    def check_health(self, timeout_s: float) -> None:
        """A full round trip through every service, under one deadline for all."""
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
            # Does not wait: after a failure the environment is closed next, which ends the other services.
            pool.shutdown(wait=False)

    def _start(self, service: OwnService, deadline: Deadline) -> None:
        began_s = time.monotonic()
        service.start(deadline)
        self._startup_s[service.name] = round(time.monotonic() - began_s, 3)

    def _fill(self, services: Services) -> Services:
        for service in self._services:
            services = service.provide(services)
        return services

    def _own_services(self) -> Mapping[str, OwnService]:
        return {service.name: service for service in self._services}

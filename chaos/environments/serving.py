"""The base of environments that run their own services: start them in parallel, provide their addresses."""

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from chaos.deadline import Deadline
from chaos.environment import SERVICE_NAMES, ServiceName, Services
from chaos.environments.hosted import HostedEnvironment
from chaos.errors import ChaosError
from chaos.faults import DegradeNetwork, Fault, KillService, PauseService
from chaos.services.declared.program import ServiceProgram
from chaos.services.declared.server import DeclaredServer
from chaos.services.service import OwnService

START_TIMEOUT_S = 60.0
STRIKING_DECLARED = (KillService, PauseService, DegradeNetwork)
"""The faults that can strike a service of the user's own: they need to know nothing of it."""


class ServingEnvironment(HostedEnvironment):
    """Processes and the services that they need, started by the lab and removed with it.

    `services`: those to start; the others are not offered. `declared`: those of the user's own, started for each run. One run at a
    time: `provision` closes the links of the previous run, and ends its declared services.
    """

    def __init__(
        self,
        services: Iterable[ServiceName] = SERVICE_NAMES,
        *,
        declared: Sequence[ServiceProgram] = (),
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        super().__init__()
        wanted = set(services)
        if unknown := wanted - set(SERVICE_NAMES):
            raise ChaosError(
                f"no service is called {', '.join(sorted(unknown))}; the services are {', '.join(SERVICE_NAMES)}"
            )
        self._served = tuple(sorted(wanted))
        self._programs = {program.name: program for program in declared}
        self.offers = frozenset({*wanted, *self._programs})
        self._start_timeout_s = start_timeout_s
        self._startup_s: dict[str, float] = {}
        self._services: Sequence[OwnService] = ()
        self._declared: tuple[str, Sequence[DeclaredServer]] = ("", ())
        """By the namespace of the present run, its services of the user's own."""

    @abstractmethod
    def _make_services(self) -> Sequence[OwnService]:
        """The services in `_served`, not yet started."""

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered a full round trip."""
        return MappingProxyType(self._startup_s)

    def versions(self) -> Mapping[str, str]:
        """Version of each service, as the service reports it."""
        return {**{service.name: service.version() for service in self._services}, **super().versions()}

    def __exit__(self, *exc_info: object) -> None:
        """End every process, remove every file. Idempotent."""
        try:
            with suppress(ChaosError):  # the warden is gone, and the services with it
                self._stop_declared()
        finally:
            super().__exit__(*exc_info)

    def can(self, fault: Fault) -> str:
        """As in every environment; the link to a service of the user's own is struck only if the lab can prove it."""
        program = self._programs.get(fault.struck_service or "")
        if program is not None and not isinstance(fault, STRIKING_DECLARED):
            return f"{fault.name} is a fault of a service that the lab knows; {program.name} is one of the user's own"
        if program is not None and fault.needs_link:
            if not program.ready.is_exchange:
                return f"{fault.name} on {program.name} cannot be proven: its `ready` has to state `http`, or `send` and `expect`"
            if getattr(fault, "kind", None) == "slow":
                return f"{fault.name} of the kind 'slow' on {program.name} cannot be proven: the length of its answers is not known"
        return super().can(fault)

    def service_logs(self) -> Mapping[str, Path]:
        """Those of the services of the user's own."""
        return {server.name: server.log for server in self._declared[1]}

    def check_health(self, timeout_s: float) -> None:
        """A full round trip through every service, under one deadline for all."""
        super().check_health(timeout_s)
        deadline = Deadline.after(timeout_s)
        for service in self._own_services().values():
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
        if self._declared[0] != services.namespace:
            self._start_declared(services)
        for declared in self._declared[1]:
            services = declared.provide(services)
        return services

    def _start_declared(self, services: Services) -> None:
        """Fresh services of the user's own for a run; those of the run before end."""
        self._stop_declared()
        (services.directory / "services").mkdir(exist_ok=True)
        servers = [DeclaredServer(one, self._warden, services, self._ports) for one in self._programs.values()]
        self._declared = services.namespace, servers
        for server in servers:
            began_s = time.monotonic()
            server.start(Deadline.after(server.program.ready_within_s))
            self._startup_s[server.name] = round(time.monotonic() - began_s, 3)

    def _stop_declared(self) -> None:
        for server in self._declared[1]:
            server.stop()
        self._declared = "", ()

    def _own_services(self) -> Mapping[str, OwnService]:
        return {service.name: service for service in (*self._services, *self._declared[1])}

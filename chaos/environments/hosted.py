"""The base of every real environment: a temporary directory, a warden, its processes, ports, and one namespace per run."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Self

from chaos.deadline import Deadline
from chaos.environment import Process, ProcessSpec, Services
from chaos.environments.catalogue import environments_with
from chaos.errors import ChaosError, WardenLost
from chaos.faults import Fault
from chaos.hosting.processes import HostedProcess, ProcessHost, own
from chaos.hosting.warden_client import WardenClient
from chaos.injection import Injection, Interruption
from chaos.injectors.injector import Capability, InjectionContext, injector_of
from chaos.network.conversation import Counters
from chaos.network.links import Links
from chaos.ports import PortAllocator
from chaos.services.contents import SERVICE_TIMEOUT_S, ServiceItem
from chaos.services.registry import addresses
from chaos.services.service import OwnService

NAMESPACE = re.compile(r"[a-z][a-z0-9_]{0,47}")
"""Valid as the name of a database, as a prefix of keys and queues, and as the name of a directory."""


class HostedEnvironment:
    """Processes under a warden; a subclass adds the services, if there are any.

    `capabilities`: what it offers to injectors; a fault that needs more is refused.
    """

    name: str
    offers: frozenset[str]
    capabilities: frozenset[Capability]

    def __init__(self) -> None:
        self._ports = PortAllocator()
        self._http_ports: dict[str, int] = {}
        self._opened: tuple[WardenClient, ProcessHost, Links] | None = None

    def __enter__(self) -> Self:
        """Start the warden, then the services.

        Raises:
            ServiceUnavailable: a service is missing or did not start; nothing is left running.
        """
        assert self._opened is None, "an environment is entered once"
        warden = WardenClient(Path(tempfile.mkdtemp(prefix="tasklab-")).resolve())
        self._opened = warden, ProcessHost(warden), Links(warden, warden.directory, self._ports)
        try:
            self._start_services()
        except BaseException:  # Ctrl-C too: `with` does not call __exit__ after an error in __enter__
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        """End every process, remove every file. Idempotent."""
        if self._opened is not None:
            self._links.close()
            self._warden.close()
        self._ports.close()

    @property
    def directory(self) -> Path:
        """The temporary directory of this environment: data and logs of services, scratch directories of runs."""
        return self._warden.directory

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered a full round trip."""
        return MappingProxyType({})

    def versions(self) -> Mapping[str, str]:
        """Version of each service, as the service reports it, and of Toxiproxy where a link needs it."""
        return self._links.versions()

    def provision(self, namespace: str, *, linked: Sequence[str] = ()) -> Services:
        """A fresh namespace for one run, and links for these processes. A second call with the same name empties it again.

        Raises:
            ChaosError: the name is not valid as a namespace.
        """
        if not NAMESPACE.fullmatch(namespace):
            raise ChaosError(
                f"{namespace!r} is not valid as a namespace: a small letter, then small letters, digits and _, at most 48 in all"
            )
        directory = self.directory / "runs" / namespace
        directory.mkdir(parents=True, exist_ok=True)
        if namespace not in self._http_ports:
            self._http_ports[namespace] = self._ports.allocate()
        services = self._fill(Services(namespace, directory, self._http_ports[namespace]))
        return replace(services, links=self._links.open(services, linked))

    def start_process(self, spec: ProcessSpec, *, log_directory: Path) -> HostedProcess:
        """Start a process under the warden: it dies with the lab."""
        return self._host.start(spec, log_directory=log_directory)

    def restart_process(self, process: Process) -> None:
        """Start it again from its spec after it ended."""
        self._host.restart(process)

    def stop_process(self, process: Process, *, timeout_s: float) -> int | None:
        """End it and all its descendants; its exit code."""
        return self._host.stop(process, timeout_s=timeout_s)

    def injection(self, fault: Fault, services: Services, processes: Mapping[str, Process]) -> Injection:
        """The fault, ready to begin, by its injector in chaos.injectors."""
        if why := self.can(fault):
            raise ChaosError(why)
        hosted = {name: own(process) for name, process in processes.items()}
        context = InjectionContext(self._host, self._links, self._own_services(), services, hosted)
        injection: Injection = injector_of(fault).inject(fault, context)
        return injection

    def can(self, fault: Fault) -> str:
        """Why this environment cannot do the fault, in one sentence; "" if it can. May be called before `with`."""
        if flaw := fault.flaw():
            return flaw
        refused = f"the environment {self.name!r} cannot do {fault.name}: "
        injector = injector_of(fault)
        if lack := injector.lack(fault, self.capabilities):
            others = [name for name in environments_with(injector) if name != self.name]
            return f"{refused}{lack}" + (f" (possible in: {', '.join(others)})" if others else "")
        if fault.struck_service is not None and fault.struck_service not in self.offers:
            return f"{refused}it has no service {fault.struck_service!r}; it has {', '.join(sorted(self.offers)) or 'none'}"
        program = injector.missing_program()
        return refused + program if program else ""

    def counters(self, process: str) -> Counters:
        """The traffic between a linked process of the current run and RabbitMQ: shows that the process used its link.

        Raises:
            ChaosError: it has no such link.
        """
        return self._links.counters(process)

    def interruptions(self) -> Sequence[Interruption]:
        """The connections of linked processes to the broker that ended with unsettled deliveries, so far in this run."""
        return self._links.interruptions()

    def contents(self, services: Services) -> Iterator[ServiceItem]:
        """What every service holds for a run; of a service that does not answer, or not in time, that it does not."""
        for service, address in addresses(services):
            deadline = Deadline.after(SERVICE_TIMEOUT_S)
            try:
                for item in service.contents(address, self._own_services().get(service.name)):
                    yield item
                    if deadline.is_over():
                        yield ServiceItem(f"{service.name}: not read to the end in {SERVICE_TIMEOUT_S:g} s", None)
                        break
            except ChaosError as error:
                yield ServiceItem(str(error), None)
        for name in services.own:
            yield ServiceItem(f"{name}: not read, because the lab does not know its contents", None)

    def service_logs(self) -> Mapping[str, Path]:
        """The logs of the services that belong to the run, by name."""
        return {}

    def check_health(self, timeout_s: float) -> None:
        """Check that the environment still runs; subclasses add a round trip through every service.

        Raises:
            WardenLost: the warden ended, and every process with it.
        """
        if self._warden.is_lost:
            raise WardenLost

    def _start_services(self) -> None:
        """Start the services, in parallel."""

    def _fill(self, services: Services) -> Services:
        """Add the addresses of the services, each with a fresh namespace."""
        return services

    def _own_services(self) -> Mapping[str, OwnService]:
        """The services that the lab runs here, by name."""
        return {}

    @property
    def _warden(self) -> WardenClient:
        assert self._opened is not None, "an environment is used inside `with`"
        return self._opened[0]

    @property
    def _host(self) -> ProcessHost:
        assert self._opened is not None, "an environment is used inside `with`"
        return self._opened[1]

    @property
    def _links(self) -> Links:
        assert self._opened is not None, "an environment is used inside `with`"
        return self._opened[2]

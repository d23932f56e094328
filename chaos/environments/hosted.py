"""What every real environment stands on: a temporary directory, a warden, processes in its care, ports, one namespace a run."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Self

from chaos.environment import Process, ProcessSpec, ServiceName, Services
from chaos.errors import ChaosError, WardenLost
from chaos.faults import FailOverRedis, Fault, KillProcess, KillService, PauseProcess
from chaos.hosting.processes import HostedProcess, ProcessHost, own
from chaos.hosting.warden_client import WardenClient
from chaos.injection import Injection
from chaos.injectors.processes import ProcessKill, ProcessPause, resolve
from chaos.network.conversation import Counters
from chaos.network.links import Links
from chaos.ports import PortLease

NAMESPACE = re.compile(r"[a-z][a-z0-9_]{0,47}")
"""What is a database name, a prefix of keys and queues, and a directory name alike."""


class HostedEnvironment:
    """Processes under a warden, in a world whose services, if any, a subclass adds."""

    name: str
    offers: frozenset[ServiceName]

    def __init__(self) -> None:
        self._ports = PortLease()
        self._http_ports: dict[str, int] = {}
        self._opened: tuple[WardenClient, ProcessHost, Links] | None = None

    def __enter__(self) -> Self:
        """Start the warden, then the services.

        Raises:
            ServiceUnavailable: one is missing or did not come up; nothing is left running.
        """
        assert self._opened is None, "an environment is entered once"
        warden = WardenClient(Path(tempfile.mkdtemp(prefix="tasklab-")).resolve())
        self._opened = warden, ProcessHost(warden), Links(warden, warden.directory, self._ports)
        try:
            self._start_services()
        except BaseException:  # also Ctrl-C: `with` does not call __exit__ for what happens in here
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
        """The temporary directory of this environment: services' data and logs, and scratch space of the runs."""
        return self._warden.directory

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered a full round trip."""
        return MappingProxyType({})

    def versions(self) -> Mapping[str, str]:
        """Version of each service, as it says itself, and of Toxiproxy where a link needs it."""
        return self._links.versions()

    def provision(self, namespace: str, *, linked: Sequence[str] = ()) -> Services:
        """See `Environment.provision`. Asked again for the same namespace, it is emptied again.

        Raises:
            ChaosError: the name is not fit to be one.
        """
        if not NAMESPACE.fullmatch(namespace):
            raise ChaosError(
                f"{namespace!r} cannot be a namespace: a small letter, then small letters, digits and _, 48 at most"
            )
        directory = self.directory / "runs" / namespace
        directory.mkdir(parents=True, exist_ok=True)
        if namespace not in self._http_ports:
            self._http_ports[namespace] = self._ports.claim()
        services = self._fill(Services(namespace, directory, self._http_ports[namespace]))
        return replace(services, links=self._links.open(services, linked))

    def start_process(self, spec: ProcessSpec, *, log_directory: Path) -> HostedProcess:
        """See `Environment.start_process`."""
        return self._host.start(spec, log_directory=log_directory)

    def restart_process(self, process: Process) -> None:
        """See `Environment.restart_process`."""
        self._host.restart(process)

    def stop_process(self, process: Process, *, timeout_s: float) -> int | None:
        """See `Environment.stop_process`."""
        return self._host.stop(process, timeout_s=timeout_s)

    def injection(self, fault: Fault, services: Services, processes: Mapping[str, Process]) -> Injection:
        """See `Environment.injection`."""
        hosted = {name: own(process) for name, process in processes.items()}
        if isinstance(fault, KillProcess):
            return ProcessKill(self._host, resolve(fault.process, hosted))
        if isinstance(fault, PauseProcess):
            return ProcessPause(resolve(fault.process, hosted))
        return self._service_injection(fault, services, hosted)

    def counters(self, process: str) -> Counters:
        """What has passed between a linked process of the present run and RabbitMQ: a proof that it did something.

        Raises:
            ChaosError: it has no such link.
        """
        return self._links.counters(process)

    def check_health(self, timeout_s: float) -> None:
        """See `Environment.check_health`.

        Raises:
            WardenLost: nothing of this environment runs any more.
        """
        if self._warden.is_lost:
            raise WardenLost

    def _start_services(self) -> None:
        """Start the services, in parallel."""

    def _fill(self, services: Services) -> Services:
        """Add the addresses of the services, each with a fresh namespace."""
        return services

    def _service_injection(self, fault: Fault, services: Services, processes: Mapping[str, HostedProcess]) -> Injection:
        """An injection of a fault that is not one of processes; here, of their links."""
        if isinstance(fault, KillService | FailOverRedis):
            raise ChaosError(
                f"the environment {self.name!r} cannot do {fault.name}: it runs no service that it could kill"
            )
        return self._links.injection(fault, services, processes)

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

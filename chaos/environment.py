"""An environment: services with addresses, processes, and faults. The Protocols; the environments are in chaos/environments/."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from chaos.faults import Fault
from chaos.injection import Injection, Interruption
from chaos.process import Process as Process
from chaos.process import ProcessSpec as ProcessSpec
from chaos.services.addresses import SERVICE_NAMES as SERVICE_NAMES
from chaos.services.addresses import ServiceName as ServiceName
from chaos.services.addresses import Services as Services
from chaos.services.contents import ServiceItem


class AnyEnvironment(Protocol):
    """What every environment has, real or simulated. A context manager; on exit it removes everything that it created."""

    name: str
    offers: frozenset[str]

    def __enter__(self) -> "AnyEnvironment":
        """Start the requested services, in parallel."""

    def __exit__(self, *exc_info: object) -> None:
        """End every process, remove every file. Idempotent."""

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered a full round trip."""

    def versions(self) -> Mapping[str, str]:
        """Version of each service, as the service reports it."""

    def can(self, fault: Fault) -> str:
        """Why this environment cannot do the fault, in one sentence; "" if it can. May be called before `with`."""


class Environment(AnyEnvironment, Protocol):
    """A real environment: services, processes of a system under test, faults."""

    def __enter__(self) -> "Environment":
        """Start the requested services, in parallel."""

    def provision(self, namespace: str, *, linked: Sequence[str] = ()) -> Services:
        """A fresh namespace for one run: an empty database, no keys, no queues of that prefix.

        `linked`: names of the processes that get links of their own (a proxy between them and each service).
        """

    def start_process(self, spec: ProcessSpec, *, log_directory: Path) -> Process:
        """Start a process of the system under test; it dies with the lab, even if the lab is killed.

        Raises:
            ProcessFailed: it could not be started, or `runs_once` and it did not exit 0.
        """

    def restart_process(self, process: Process) -> None:
        """Start it again from its spec after it ended; appends to the log."""

    def stop_process(self, process: Process, *, timeout_s: float) -> int | None:
        """Send its stop signal, and after `timeout_s` SIGKILL to it and all its descendants; returns its exit code."""

    def injection(self, fault: Fault, services: Services, processes: Mapping[str, Process]) -> Injection:
        """The fault, ready to begin, against the run that has these services and processes.

        Raises:
            ChaosError: this environment cannot do the fault, see `can`; or there is no such process, or no such link.
        """

    def interruptions(self) -> Sequence[Interruption]:
        """The connections of linked processes to the broker that ended with unsettled deliveries, so far in this run."""

    def contents(self, services: Services) -> Iterator[ServiceItem]:
        """What every service holds for the run: messages, keys, rows. For the end of a run, when its processes have stopped."""

    def service_logs(self) -> Mapping[str, Path]:
        """The logs of the services that belong to the run, by name: those of the user's own."""

    def check_health(self, timeout_s: float) -> None:
        """A full round trip through every service.

        Raises:
            ServiceUnavailable: a service does not answer.
        """

"""The external environment: services that run elsewhere, given by URL. The lab never kills or restarts them; it can do link faults."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from chaos.deadline import Deadline, wait
from chaos.environment import SERVICE_NAMES, ServiceName, Services
from chaos.environments.hosted import HostedEnvironment
from chaos.errors import ChaosError, ServiceUnavailable
from chaos.injectors.injector import Capability
from chaos.services.registry import descriptor

START_TIMEOUT_S = 20.0


class ExternalEnvironment(HostedEnvironment):
    """Services by URL, as arguments `mysql_url`, `redis_url`, and so on: the name of a service and `_url`; None: no such service.

    `mysql://user:password@host:port`, `redis://host:port`, `amqp://user:password@host:port/vhost`,
    `postgresql://user:password@host:port/database`. The namespace of a run (its
    database, its Redis keys) is emptied before the run and removed with the environment. Queues cannot be listed without RabbitMQ's
    management plugin: those that a run declares stay.
    """

    name = "external"
    capabilities = frozenset({Capability.PROCESSES, Capability.LINKS})

    def __init__(self, *, start_timeout_s: float = START_TIMEOUT_S, **urls: str | None) -> None:
        super().__init__()
        if unknown := set(urls) - {f"{name}_url" for name in SERVICE_NAMES}:
            raise ChaosError(
                f"no service has the URL argument {', '.join(sorted(unknown))}; the services are {', '.join(SERVICE_NAMES)}"
            )
        given: Mapping[ServiceName, str] = {name: url for name in SERVICE_NAMES if (url := urls.get(f"{name}_url"))}
        self._addresses: Mapping[ServiceName, Any] = {
            name: descriptor(name).read_url(url) for name, url in given.items()
        }
        self._start_timeout_s = start_timeout_s
        self._startup_s: dict[str, float] = {}
        self._used: dict[str, None] = {}
        self.offers = frozenset(self._addresses)

    def __exit__(self, *exc_info: object) -> None:
        """Drop the databases and keys of all runs, end every process, remove every file. Idempotent."""
        namespaces = list(self._used)
        self._used.clear()
        # A service that is gone by now keeps its data. An error here would hide the error of the run.
        with suppress(ServiceUnavailable):
            for namespace in namespaces:
                for service, address in self._addresses.items():
                    descriptor(service).remove(address, namespace)
        super().__exit__(*exc_info)

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered a full round trip."""
        return MappingProxyType(self._startup_s)

    def versions(self) -> Mapping[str, str]:
        """Version of each service, as the service reports it."""
        found: dict[str, str] = {
            service: descriptor(service).version(address) for service, address in self._addresses.items()
        }
        return {**found, **super().versions()}

    def check_health(self, timeout_s: float) -> None:
        """A full round trip through every service, under one deadline for all."""
        super().check_health(timeout_s)
        deadline = Deadline.after(timeout_s)
        for service in self._addresses:
            self._await(service, deadline)

    def _start_services(self) -> None:
        deadline = Deadline.after(self._start_timeout_s)
        for service in self._addresses:
            began_s = time.monotonic()
            self._await(service, deadline)
            self._startup_s[service] = round(time.monotonic() - began_s, 3)

    def _await(self, service: ServiceName, deadline: Deadline) -> None:
        address, missing = self._addresses[service], descriptor(service).missing
        if problem := wait(lambda: missing(address), deadline):
            raise ServiceUnavailable(service, f"no full round trip within {deadline.timeout_s:g} s: {problem}")

    def _fill(self, services: Services) -> Services:
        self._used[services.namespace] = None
        provided = {
            service: descriptor(service).provision(address, services.namespace)
            for service, address in self._addresses.items()
        }
        return replace(services, **provided)

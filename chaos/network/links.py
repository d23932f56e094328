"""Links: the relay and the proxies between one process under test and its services, so that faults can be aimed at that process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chaos import binaries
from chaos.deadline import Deadline
from chaos.errors import ChaosError
from chaos.hosting.warden_client import WardenClient
from chaos.injection import Interruption
from chaos.network.conversation import Counters
from chaos.network.proxies import NetworkProxy
from chaos.network.relay import Link, Relay
from chaos.ports import LOOPBACK, PortAllocator
from chaos.services.addresses import Services
from chaos.services.registry import addresses
from chaos.services.toxiproxy.server import ToxiproxyServer

START_TIMEOUT_S = 20.0


class Links:
    """The links of one run at a time.

    The descriptor of a service names what a link to it consists of: the AMQP relay, a Toxiproxy proxy, or both, the proxy first.
    Toxiproxy is started for the first link. Without that program there are no proxies: relay faults still work, network faults are
    refused.
    """

    def __init__(self, warden: WardenClient, directory: Path, ports: PortAllocator) -> None:
        self._warden = warden
        self._directory = directory
        self._ports = ports
        self._relay: Relay | None = None
        self._toxiproxy: ToxiproxyServer | None = None
        self._links: dict[str, Link] = {}
        self._proxies: dict[tuple[str, str], NetworkProxy] = {}
        """By process and service."""
        self._allocated_ports: list[int] = []

    def open(self, services: Services, processes: Sequence[str]) -> Mapping[str, Services]:
        """Links for these processes; those of the previous run are closed."""
        self.clear()
        has_services = any(addresses(services)) or services.own
        if processes and has_services and self._toxiproxy is None and binaries.find("toxiproxy-server"):
            server = ToxiproxyServer(self._warden, self._directory, self._ports)
            server.start(Deadline.after(START_TIMEOUT_S))
            self._toxiproxy = server
        return {process: self._open(services, process) for process in processes}

    def relayed(self, process: str) -> Link:
        """The AMQP link of a process.

        Raises:
            ChaosError: it has none.
        """
        if process not in self._links:
            raise ChaosError(
                f"process {process!r} has no link to rabbitmq: `provision` was called without it in `linked`"
            )
        return self._links[process]

    def proxied(self, process: str, service: str) -> NetworkProxy:
        """The proxy between a process and a service.

        Raises:
            ChaosError: there is none.
        """
        if (process, service) not in self._proxies:
            raise ChaosError(
                f"no proxy between process {process!r} and {service}: `provision` was called without it in `linked`"
            )
        return self._proxies[process, service]

    def counters(self, process: str) -> Counters:
        """The traffic on the AMQP link of a process so far.

        Raises:
            ChaosError: it has none.
        """
        return self.relayed(process).counters()

    def interruptions(self) -> list[Interruption]:
        """The connections of linked processes to the broker that ended with unsettled deliveries, so far."""
        return [one for link in self._links.values() for one in link.interruptions()]

    def clear(self) -> None:
        """Close the links of a run. Idempotent."""
        for link in self._links.values():
            link.close()
        self._links.clear()
        for proxy in self._proxies.values():
            proxy.api.delete(proxy.name)
        self._proxies.clear()
        for port in self._allocated_ports:
            self._ports.release(port)
        self._allocated_ports.clear()

    def close(self) -> None:
        """End the relay; Toxiproxy ends with the warden. Idempotent."""
        if self._relay is not None:
            self._relay.close()

    def versions(self) -> Mapping[str, str]:
        """Of Toxiproxy, if it runs."""
        return {} if self._toxiproxy is None else {self._toxiproxy.name: self._toxiproxy.version()}

    def _open(self, services: Services, process: str) -> Services:
        linked = services
        for service, address in addresses(services):
            kinds = service.proxy_kinds(address)
            if "relay" in kinds:
                address = self._through_relay(process, address)
            if "proxy" in kinds:
                address = self._through_proxy(process, service.name, address)
            linked = replace(linked, **{service.name: address})
        own = {name: self._through_proxy(process, name, address) for name, address in services.own.items()}
        return replace(linked, own=own)

    def _through_relay(self, process: str, address: Any) -> Any:
        if self._relay is None:
            self._relay = Relay()
        upstream = (address.host, address.port)
        self._links[process] = self._relay.open_link(
            process, upstream, port=self._allocate_port(), health_port=self._allocate_port()
        )
        host, port = self._links[process].address
        return replace(address, host=host, port=port)

    def _through_proxy(self, process: str, service: str, address: Any) -> Any:
        if self._toxiproxy is None:
            return address
        listen = (LOOPBACK, self._allocate_port())
        proxy = NetworkProxy(self._toxiproxy.api, f"{process}-to-{service}")
        proxy.api.create(proxy.name, listen=listen, upstream=(address.host, address.port))
        self._proxies[process, service] = proxy
        return replace(address, host=listen[0], port=listen[1])

    def _allocate_port(self) -> int:
        port = self._ports.allocate()
        self._allocated_ports.append(port)
        return port

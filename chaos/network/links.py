"""Links: what stands between one process of the system under test and each service, so that a fault can be aimed at that process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from chaos import binaries
from chaos.deadline import Deadline
from chaos.environment import MysqlAddress, RabbitmqAddress, RedisAddress, Services
from chaos.errors import ChaosError
from chaos.faults import DegradeNetwork, Fault, SwallowAck, WithholdConfirm
from chaos.hosting.processes import HostedProcess
from chaos.hosting.warden_client import WardenClient
from chaos.injection import Injection
from chaos.injectors.amqp import RelayRule
from chaos.injectors.network import NetworkDegradation, NetworkProxy
from chaos.injectors.processes import resolve
from chaos.network.conversation import Counters
from chaos.network.relay import Link, Relay
from chaos.network.rules import FreezeAtNthPublish, Rule, SwallowNthAck
from chaos.ports import LOOPBACK, PortLease
from chaos.services.exchange import open_exchange
from chaos.services.rabbitmq import server as rabbitmq
from chaos.services.toxiproxy.server import ToxiproxyServer

START_TIMEOUT_S = 20.0

Address = TypeVar("Address", MysqlAddress, RedisAddress, RabbitmqAddress)


class Links:
    """The links of one run at a time.

    RabbitMQ is reached through a link of the lab's AMQP relay, and before it, as MySQL and Redis are, through a proxy of a
    Toxiproxy server, which is started for the first link. Where that program is missing there are no such proxies: faults
    of the relay still work, those of the network say what is missing.

    A Redis that Sentinels watch is reached as it is, Sentinels and all: clients ask them for the primary, and the address
    that they give leads past any proxy.
    """

    def __init__(self, warden: WardenClient, directory: Path, ports: PortLease) -> None:
        self._warden = warden
        self._directory = directory
        self._ports = ports
        self._relay: Relay | None = None
        self._toxiproxy: ToxiproxyServer | None = None
        self._links: dict[str, Link] = {}
        self._proxies: list[tuple[str, str]] = []
        """By process and service."""
        self._leased: list[int] = []

    def open(self, services: Services, processes: Sequence[str]) -> Mapping[str, Services]:
        """Links of their own for these processes; those of the run before are closed."""
        self.clear()
        has_services = services.mysql or services.redis or services.rabbitmq
        if processes and has_services and self._toxiproxy is None and binaries.find("toxiproxy-server"):
            server = ToxiproxyServer(self._warden, self._directory, self._ports)
            server.start(Deadline.after(START_TIMEOUT_S))
            self._toxiproxy = server
        return {process: self._open(services, process) for process in processes}

    def injection(self, fault: Fault, services: Services, processes: Mapping[str, HostedProcess]) -> Injection:
        """A fault on the link of one process.

        Raises:
            ChaosError: it is none of a link, there is no such link, or it makes no sense.
        """
        match fault:
            case SwallowAck(process, nth):
                return self._rule(fault, resolve(process, processes).spec.name, SwallowNthAck(nth), services)
            case WithholdConfirm(process, nth):
                return self._rule(fault, resolve(process, processes).spec.name, FreezeAtNthPublish(nth), services)
            case DegradeNetwork(process, service):
                return self._degradation(fault, resolve(process, processes), service, services)
        raise ChaosError(f"{fault.name} is no fault of a link")

    def counters(self, process: str) -> Counters:
        """What has passed the AMQP link of a process.

        Raises:
            ChaosError: it has none.
        """
        return self._relayed(process).counters()

    def clear(self) -> None:
        """Close the links of a run. Idempotent."""
        for link in self._links.values():
            link.close()
        self._links.clear()
        if self._toxiproxy is not None:
            for process, service in self._proxies:
                self._toxiproxy.api.delete(_proxy_name(process, service))
        self._proxies.clear()
        for port in self._leased:
            self._ports.release(port)
        self._leased.clear()

    def close(self) -> None:
        """End the relay; Toxiproxy ends with the warden. Idempotent."""
        if self._relay is not None:
            self._relay.close()

    def versions(self) -> Mapping[str, str]:
        """Of Toxiproxy, if it runs."""
        return {} if self._toxiproxy is None else {self._toxiproxy.name: self._toxiproxy.version()}

    def _open(self, services: Services, process: str) -> Services:
        linked = services
        if services.mysql is not None:
            linked = replace(linked, mysql=self._through_proxy(process, "mysql", services.mysql))
        if services.redis is not None and not services.redis.sentinels:
            linked = replace(linked, redis=self._through_proxy(process, "redis", services.redis))
        if services.rabbitmq is not None:
            relayed = self._through_relay(process, services.rabbitmq)
            linked = replace(linked, rabbitmq=self._through_proxy(process, "rabbitmq", relayed))
        return linked

    def _through_relay(self, process: str, address: RabbitmqAddress) -> RabbitmqAddress:
        if self._relay is None:
            self._relay = Relay()
        upstream = (address.host, address.port)
        self._links[process] = self._relay.open_link(process, upstream, port=self._lease(), side_port=self._lease())
        host, port = self._links[process].address
        return replace(address, host=host, port=port)

    def _through_proxy(self, process: str, service: str, address: Address) -> Address:
        if self._toxiproxy is None:
            return address
        listen = (LOOPBACK, self._lease())
        self._toxiproxy.api.create(_proxy_name(process, service), listen=listen, upstream=(address.host, address.port))
        self._proxies.append((process, service))
        return replace(address, host=listen[0], port=listen[1])

    def _rule(self, fault: Fault, process: str, rule: Rule, services: Services) -> Injection:
        link = self._relayed(process)
        assert services.rabbitmq is not None, "only a broker can have been linked to"
        if rule.nth < 1:
            raise ChaosError(f"{fault.name} counts from 1, not from {rule.nth}")
        host, port = link.side_door
        door = replace(services.rabbitmq, host=host, port=port)
        return RelayRule(fault.name, link, rule, lambda: rabbitmq.missing(door))

    def _relayed(self, process: str) -> Link:
        if process not in self._links:
            raise ChaosError(
                f"process {process!r} has no link to rabbitmq of its own: it was not `linked` at provision"
            )
        return self._links[process]

    def _degradation(self, fault: DegradeNetwork, struck: HostedProcess, service: str, services: Services) -> Injection:
        process = struck.spec.name
        address = getattr(services.links.get(process), service, None)
        if self._toxiproxy is None:
            binaries.require("toxiproxy", "toxiproxy-server")
        if self._toxiproxy is None or (process, service) not in self._proxies or address is None:
            raise ChaosError(
                f"no proxy stands between process {process!r} and {service}: not `linked`, or reached by Sentinels"
            )
        proxy = NetworkProxy(self._toxiproxy.api, _proxy_name(process, service))
        connect = partial(open_exchange, address)
        return NetworkDegradation(fault, proxy, connect, struck, address.port)

    def _lease(self) -> int:
        port = self._ports.claim()
        self._leased.append(port)
        return port


def _proxy_name(process: str, service: str) -> str:
    return f"{process}-to-{service}"

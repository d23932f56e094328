"""The descriptor of a service: everything that the lab uses of it. Environments and links use descriptors and name no service."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from chaos.hosting.warden_client import WardenClient
from chaos.ports import PortAllocator
from chaos.services.addresses import Address, ServiceName
from chaos.services.container import ContainerService
from chaos.services.contents import ServiceItem
from chaos.services.exchange import Exchange
from chaos.services.service import OwnService

ProxyKind = Literal["relay", "proxy"]
"""The kinds of proxies between a process and a service: the AMQP relay, a Toxiproxy proxy."""

AddressT = TypeVar("AddressT", bound=Address)


@dataclass(frozen=True, slots=True)
class ServiceDescriptor(Generic[AddressT]):
    """One service.

    `server` makes a server that the lab runs, not yet started; `replicated` one with a replica that is promoted when it dies, for systems
    that follow it (None: the lab has none); `container` one in a container, by default of `image`. `read_url` parses
    the address of one that runs elsewhere. `missing` is the health round trip: the failing step as a sentence, "" if the service is
    healthy. `version` is what the service reports. `open_exchange` opens a connection for requests, each step with a time-out.
    `provision` creates the namespace of a run, empty, and returns the address for it; `remove` removes it; both raise
    ServiceUnavailable. `contents`: what the namespace of the address holds; its second argument is the lab's own service, None if it runs
    elsewhere. `proxy_kinds`: the proxies between the service and a linked process, none if clients would bypass them.
    """

    name: ServiceName
    address: type[AddressT]
    server: Callable[[WardenClient, Path, PortAllocator], OwnService]
    container: type[ContainerService]
    image: str
    read_url: Callable[[str], AddressT]
    missing: Callable[[AddressT], str]
    version: Callable[[AddressT], str]
    open_exchange: Callable[[AddressT, float], Exchange]
    provision: Callable[[AddressT, str], AddressT]
    remove: Callable[[AddressT, str], None]
    contents: Callable[[AddressT, Any], Iterator[ServiceItem]]
    proxy_kinds: Callable[[AddressT], tuple[ProxyKind, ...]]
    replicated: Callable[[WardenClient, Path, PortAllocator], OwnService] | None = None

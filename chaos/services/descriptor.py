"""What the lab knows of one service, in one typed place: environments and links ask a descriptor, and name no service."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from chaos.hosting.warden_client import WardenClient
from chaos.ports import PortLease
from chaos.services.addresses import Address, ServiceName
from chaos.services.container import ContainerService
from chaos.services.contents import ServiceItem
from chaos.services.exchange import Exchange
from chaos.services.service import OwnService

ProxyKind = Literal["relay", "proxy"]
"""What can stand between a process and a service: the AMQP relay, a Toxiproxy proxy."""

AddressT = TypeVar("AddressT", bound=Address)


@dataclass(frozen=True, slots=True)
class ServiceDescriptor(Generic[AddressT]):
    """One service.

    `server` makes one of the lab's own, not yet started; `container` one in a container, by default of `image`. `read_url` reads the
    address of one that runs elsewhere. `missing` is the health round trip: what it lacks in words, nothing ("") when the service is
    well. `version` is what the service reports. `open_exchange` opens a connection to ask questions on, each step bounded by a time.
    `provision` makes the namespace of a run anew and empty, and returns the address to use in it; `remove` removes it; both raise
    ServiceUnavailable. `contents`: what the namespace of the address holds; it is given the lab's own service too, None where the service
    runs elsewhere. `proxy_kinds`: what is put between a process and the service when the process is linked, none where it would be
    bypassed.
    """

    name: ServiceName
    address: type[AddressT]
    server: Callable[[WardenClient, Path, PortLease], OwnService]
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

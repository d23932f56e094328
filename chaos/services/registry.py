"""Every service by its name: the module `chaos.services.NAME.descriptor` holds its DESCRIPTOR, and is imported when it is needed."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from chaos.services.addresses import SERVICE_NAMES, Address, ServiceName, Services
from chaos.services.descriptor import ServiceDescriptor
from chaos.services.exchange import Exchange


def descriptor(name: ServiceName) -> ServiceDescriptor[Any]:
    """The descriptor of that service."""
    found: ServiceDescriptor[Any] = import_module(f"{__package__}.{name}.descriptor").DESCRIPTOR
    return found


def addresses(services: Services) -> Iterator[tuple[ServiceDescriptor[Any], Any]]:
    """The services that a run has, each with its address."""
    for name in SERVICE_NAMES:
        address = getattr(services, name)
        if address is not None:
            yield descriptor(name), address


def open_exchange(address: Address, timeout_s: float) -> Exchange:
    """A new connection to the service at that address; each step and each request takes at most `timeout_s`."""
    found = next(one for one in map(descriptor, SERVICE_NAMES) if isinstance(address, one.address))
    return found.open_exchange(address, timeout_s)

"""Every environment by its name. To add one: a file in this folder, and a line here.

The class of an environment is imported only when it is needed, because it imports drivers.
"""

from collections.abc import Iterator
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chaos.injectors.injector import Capability, Injector


class EnvironmentName(StrEnum):
    """Where a scenario can take place; `address`: module (in this folder) and class."""

    address: str

    def __new__(cls, name: str, address: str) -> "EnvironmentName":
        """A string (the name, as the command line spells it) that also carries the address of its class."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.address = address
        return member

    EMBEDDED = ("embedded", "embedded:EmbeddedEnvironment")
    LOCAL = ("local", "local:LocalEnvironment")
    CONTAINERS = ("containers", "containers:ContainersEnvironment")
    EXTERNAL = ("external", "external:ExternalEnvironment")
    SIMULATED = ("simulated", "simulated:SimulatedEnvironment")


def environment_class(name: EnvironmentName) -> Any:
    """The class of that name. (Any: each has other arguments.)"""
    module, _, found = name.address.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), found)


def environments_with(injector: "Injector[Any]") -> Iterator[str]:
    """The names of the real environments that can do the faults of this injector."""
    for name in EnvironmentName:
        capabilities: frozenset[Capability] | None = getattr(environment_class(name), "capabilities", None)
        if capabilities is not None and injector.is_available(capabilities):
            yield name.value

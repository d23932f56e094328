"""Every environment by its name. To add one: a file in this folder, and a line here."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from chaos.injectors.injector import Capability, Injector

ENVIRONMENTS: Mapping[str, str] = {
    "embedded": f"{__package__}.embedded:EmbeddedEnvironment",
    "local": f"{__package__}.local:LocalEnvironment",
    "containers": f"{__package__}.containers:ContainersEnvironment",
    "external": f"{__package__}.external:ExternalEnvironment",
    "simulated": f"{__package__}.simulated:SimulatedEnvironment",
}
"""Name to module and class: imported only when it is needed, because each brings drivers of its own."""


def environment_class(name: str) -> Any:
    """The class of that name. (Any: each is made from arguments of its own.)"""
    module, _, found = ENVIRONMENTS[name].partition(":")
    return getattr(import_module(module), found)


def environments_with(injector: Injector[Any]) -> Iterator[str]:
    """The names of the real environments that can do the faults of this injector."""
    for name in ENVIRONMENTS:
        capabilities: frozenset[Capability] | None = getattr(environment_class(name), "capabilities", None)
        if capabilities is not None and injector.is_available(capabilities):
            yield name

"""The type of an injector: what its kind of fault needs from an environment, where it is available, and how to inject it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from chaos import binaries
from chaos.errors import ChaosError
from chaos.faults import Fault
from chaos.hosting.processes import HostedProcess, ProcessHost
from chaos.injection import Injection
from chaos.network.links import Links
from chaos.services.addresses import Services
from chaos.services.service import OwnService

FaultT = TypeVar("FaultT", bound=Fault)


class Capability(Enum):
    """Something that an environment may have and a fault may need; its value describes an environment without it."""

    PROCESSES = "it runs no processes of its own"
    OWN_SERVICES = "it runs no services of its own"
    SENTINELS = "its Redis has no replica and no Sentinels"
    DATA_FILES = "it does not keep the files of its services in a directory of its own"
    LINKS = "it cannot put a proxy between a process and a service"


@dataclass(frozen=True, slots=True)
class InjectionContext:
    """What an environment provides to an injector, for one run."""

    host: ProcessHost
    links: Links
    own_services: Mapping[str, OwnService]
    services: Services
    processes: Mapping[str, HostedProcess]


@dataclass(frozen=True, slots=True)
class Injector(Generic[FaultT]):
    """How one kind of fault is done in real environments.

    `inject` makes the injection of one such fault. `needs`: required of the environment. `programs`: required on the machine.
    `refusal`: why this particular fault cannot be done in an environment with these capabilities; "" if it can.
    """

    inject: Callable[[FaultT, InjectionContext], Injection]
    needs: frozenset[Capability]
    programs: tuple[str, ...] = ()
    refusal: Callable[[FaultT, frozenset[Capability]], str] = lambda fault, capabilities: ""

    def is_available(self, capabilities: frozenset[Capability]) -> bool:
        """Whether environments with these capabilities can do this kind of fault."""
        return self.needs <= capabilities

    def lack(self, fault: FaultT, capabilities: frozenset[Capability]) -> str:
        """What an environment with these capabilities lacks for this fault, in words; "" if nothing."""
        for capability in Capability:
            if capability in self.needs - capabilities:
                return capability.value
        return self.refusal(fault, capabilities)

    def missing_program(self) -> str:
        """The program that this machine lacks, with its remedy; "" if none."""
        return next((binaries.missing(program) for program in self.programs if binaries.find(program) is None), "")


def injector_of(fault: Fault) -> Injector[Any]:
    """The injector of this kind of fault: INJECTOR of the module of that name in chaos.injectors.

    Raises:
        ChaosError: there is none.
    """
    module = f"{__package__}.{fault.injector}"
    if find_spec(module) is None:
        raise ChaosError(f"no real environment can do {fault.name}: there is no chaos/injectors/{fault.injector}.py")
    found: Injector[Any] = import_module(module).INJECTOR
    return found


def process_of(name: str, processes: Mapping[str, HostedProcess]) -> HostedProcess:
    """The process of that name, or else the first that has that role.

    Raises:
        ChaosError: there is none.
    """
    if name in processes:
        return processes[name]
    found = next((process for process in processes.values() if name in process.spec.roles), None)
    if found is None:
        raise ChaosError(
            f"no process has the name or role {name!r}; the processes are: {', '.join(processes) or 'none'}"
        )
    return found

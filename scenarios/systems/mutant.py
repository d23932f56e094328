"""What a mutant is: the reference with one planted defect, made from outside by replacing a class or a component."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chaos.environment import ProcessSpec, Services
from reference_impl.components import Components, Patch, unpatched
from reference_impl.settings import Settings
from scenarios.contract.system import Handlers
from scenarios.errors import UnknownName
from scenarios.judging.guarantees import Guarantee
from scenarios.lookup import CONTROL, MUTANTS, address_of, find_system, mutant_names
from scenarios.systems.reference.plugin import Reference
from scenarios.systems.reference.terms import LAB, NEVER_S, replace_settings

if TYPE_CHECKING:
    from scenarios.systems.reference.simulated import ReferenceSimulation

WITHOUT_SAFETY_NET = replace_settings(LAB, undelivered_after_s=NEVER_S)


@dataclass(frozen=True, slots=True)
class Mutant(Reference):
    """The reference without its safety net for undelivered tasks, and with one planted defect.

    `expected`: at least one of these guarantees must be found broken. On real services a process is
    `python -m scenarios.systems.mutants NAME ROLE`.
    """

    settings: Settings = WITHOUT_SAFETY_NET
    defect: str = ""
    expected: tuple[Guarantee, ...] = ()
    patch: Patch = unpatched

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """The processes of the reference, each patched."""
        return [self._patched(spec) for spec in Reference.processes(self, services, handlers)]

    def embedded_processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """The embedded process of the reference, patched."""
        return [self._patched(spec) for spec in Reference.embedded_processes(self, services, handlers)]

    def simulation(self) -> "ReferenceSimulation":
        """The same processes on simulated ports."""
        from scenarios.systems.reference.simulated import SIMULATED, ReferenceSimulation  # slow

        settings = replace_settings(SIMULATED, undelivered_after_s=NEVER_S)
        return ReferenceSimulation(settings=settings, patch=self.patch)

    def _patched(self, spec: ProcessSpec) -> ProcessSpec:
        return replace(spec, argv=[sys.executable, "-P", "-m", address_of(MUTANTS), self.name, spec.role])


def find_mutant(name: str) -> Mutant:
    """The mutant of that name, or the control.

    Raises:
        UnknownName: there is none.
    """
    if name not in (*mutant_names(), CONTROL):
        raise UnknownName("mutant", name, mutant_names())
    mutant = find_system(f"{MUTANTS}.{name}:system")
    assert isinstance(mutant, Mutant), f"{MUTANTS}.{name} holds a mutant"
    return mutant


def with_classes(**classes: type) -> Patch:
    """The patch that replaces these of the `ComponentClasses`."""

    def patch(components: Components) -> Components:
        replaced: Any = classes
        return replace(components, classes=replace(components.classes, **replaced))

    return patch


class Delegate:
    """Passes every call on to `inner`, except those of the methods that a subclass defines."""

    def __init__(self, inner: object) -> None:
        self.inner: Any = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

"""What a mutant is: the reference, but for one thing that is changed from outside, by putting something else in its place."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chaos.environment import ProcessSpec, Services
from reference_impl.bootstrap import Parts
from reference_impl.settings import Settings
from scenarios.contract.system import Handlers
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.reference.plugin import LAB, Reference, replace_settings

if TYPE_CHECKING:
    from scenarios.systems.reference.simulated import ReferenceSimulation

NEVER_S = 3600.0
"""When the last safety net comes: long after every run is over."""
WITHOUT_NET = replace_settings(LAB, undelivered_after_s=NEVER_S)

Alter = Callable[[Parts], Parts]
"""Makes a variant of the system out of its parts."""


@dataclass(frozen=True, slots=True)
class Mutant(Reference):
    """The reference without its last safety net, and with one planted defect; `expected`: the promises of which one must be found broken.

    On real services its processes are `python -m scenarios.systems.mutants NAME ROLE`.
    """

    settings: Settings = WITHOUT_NET
    defect: str = ""
    expected: tuple[Guarantee, ...] = ()
    alter: Alter = lambda parts: parts

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """Those of the reference, each altered."""
        return [self._altered(spec) for spec in Reference.processes(self, services, handlers)]

    def embedded_processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """That of the reference, altered."""
        return [self._altered(spec) for spec in Reference.embedded_processes(self, services, handlers)]

    def simulation(self) -> "ReferenceSimulation":
        """The same processes on simulated seams."""
        from scenarios.systems.reference.simulated import SIMULATED, ReferenceSimulation

        settings = replace_settings(SIMULATED, undelivered_after_s=NEVER_S)
        return ReferenceSimulation(settings=settings, alter=self.alter)

    def _altered(self, spec: ProcessSpec) -> ProcessSpec:
        return replace(spec, argv=[sys.executable, "-P", "-m", __package__ or "", self.name, spec.role])

"""kill -9 of a child: a simulated process has no children, so the fault has no target in any simulated world."""

from random import Random

from chaos.errors import ChaosError
from chaos.faults import KillChild
from chaos.simulation.injectors.steps import SimulatedInjection
from chaos.simulation.world import World


def inject(fault: KillChild, world: World, chance: Random) -> SimulatedInjection:
    """Refuse the fault.

    Raises:
        ChaosError: always.
    """
    raise ChaosError(f"a simulated world cannot do {fault.name}: its processes have no children")

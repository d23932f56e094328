"""kill -9 of a simulated process that never comes back."""

from random import Random

from chaos.faults import LoseProcess
from chaos.simulation.injectors.kill_process import SimulatedProcessKill
from chaos.simulation.injectors.steps import process_of
from chaos.simulation.world import World


class SimulatedProcessLoss(SimulatedProcessKill):
    """As `SimulatedProcessKill`, and over at once: there is no next incarnation."""

    def _lift(self) -> None:
        """Nothing is lifted."""

    def _still_struck(self) -> str:
        return ""


def inject(fault: LoseProcess, world: World, chance: Random) -> SimulatedProcessLoss:
    """The injection of one such fault."""
    return SimulatedProcessLoss(fault, process_of(world, fault.process), world)

"""The stop of a simulated process: it knows no signals, so it is killed at once, as one whose time of grace is over."""

from random import Random

from chaos.faults import StopProcess
from chaos.simulation.injectors.kill_process import SimulatedProcessKill
from chaos.simulation.injectors.steps import process_of
from chaos.simulation.world import World


def inject(fault: StopProcess, world: World, chance: Random) -> SimulatedProcessKill:
    """The injection of one such fault."""
    return SimulatedProcessKill(fault, process_of(world, fault.process), world)

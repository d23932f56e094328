"""The n-th ack of a simulated process is dropped, and its connection is cut."""

from collections.abc import Sequence
from random import Random
from typing import Any

from chaos.faults import SwallowAck
from chaos.simulation.injectors.steps import TrafficInjection, process_of
from chaos.simulation.world import SimulatedProcess, World


class SimulatedAckSwallowing(TrafficInjection):
    """Counts acks from its start; drops exactly one."""

    def __init__(self, fault: SwallowAck, process: SimulatedProcess, world: World) -> None:
        super().__init__(fault, process, world)
        self._left = fault.nth

    def _watch(self, operation: str, payload: Sequence[Any]) -> bool:
        if operation != "ack":
            return False
        self._left -= 1
        if self._left != 0:
            return False
        self._bites("its ack did not arrive, its connection was cut", payload)
        return True


def inject(fault: SwallowAck, world: World, chance: Random) -> SimulatedAckSwallowing:
    """The injection of one such fault."""
    return SimulatedAckSwallowing(fault, process_of(world, fault.process), world)

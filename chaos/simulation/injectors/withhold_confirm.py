"""The n-th publish of a simulated process arrives; from then on nothing passes between it and the broker."""

from collections.abc import Sequence
from random import Random
from typing import Any

from chaos.faults import WithholdConfirm
from chaos.simulation.injectors.steps import TrafficInjection, process_of
from chaos.simulation.network.degradations import Degradation
from chaos.simulation.world import SimulatedProcess, World

FROZEN = Degradation(blocks=True)


class SimulatedConfirmWithholding(TrafficInjection):
    """Counts messages from its start; when it is lifted, the connection is cut, and withheld messages are lost."""

    def __init__(self, fault: WithholdConfirm, process: SimulatedProcess, world: World) -> None:
        super().__init__(fault, process, world)
        self._left = fault.nth

    def _watch(self, operation: str, payload: Sequence[Any]) -> bool:
        if operation == "publish" and self._bite is None:
            self._left -= len(payload)
            if self._left <= 0:
                self._line.degrade(FROZEN)
                self._bites("a publish arrived, nothing passes after it", payload)
        return False

    def _lift(self) -> None:
        super()._lift()
        if self._bite is not None:
            self._world.cut(self._process, "rabbitmq")
            self._line.restore(FROZEN, losing_data=True)


def inject(fault: WithholdConfirm, world: World, chance: Random) -> SimulatedConfirmWithholding:
    """The injection of one such fault."""
    return SimulatedConfirmWithholding(fault, process_of(world, fault.process), world)

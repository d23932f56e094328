"""kill -9 of a simulated service; heals by starting it again on its data."""

from random import Random

from chaos.errors import ChaosError
from chaos.faults import KillService
from chaos.simulation.injectors.steps import SimulatedInjection
from chaos.simulation.world import World

LOSES_UNCONFIRMED, LOSES_ACKNOWLEDGEMENTS, LOSES_YOUNG_QUEUES = 0.5, 0.5, 0.3
"""Probability that a killed broker loses each of these; the loss of any of them is allowed."""


class SimulatedServiceKill(SimulatedInjection):
    """Every connection breaks, and new ones are refused."""

    def __init__(self, fault: KillService, world: World, chance: Random) -> None:
        super().__init__(fault, fault.service, world)
        self._service = world.services[fault.service]
        self._chance = chance

    def _obstacle(self) -> str:
        return "" if self._service.up else "it is down already"

    def _strike(self) -> None:
        shares = (LOSES_UNCONFIRMED, LOSES_ACKNOWLEDGEMENTS, LOSES_YOUNG_QUEUES)
        unconfirmed, acknowledgements, young_queues = [self._chance.random() < share for share in shares]
        broker = self._world.broker
        if self._service is broker:
            broker.kill_losing(unconfirmed=unconfirmed, acknowledgements=acknowledgements, young_queues=young_queues)
        else:
            self._service.kill()

    def _words(self) -> str:
        return "connections to it are refused"

    def _lift(self) -> None:
        self._service.start()


def inject(fault: KillService, world: World, chance: Random) -> SimulatedServiceKill:
    """The injection of one such fault."""
    if fault.service not in world.services:
        raise ChaosError(f"no service {fault.service!r} here; there are {', '.join(sorted(world.services))}")
    return SimulatedServiceKill(fault, world, chance)

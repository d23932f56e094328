"""The simulated Redis primary dies, and its replica takes over with the writes that had reached it."""

from random import Random

from chaos.errors import FaultDidNotBite
from chaos.faults import FailOverRedis
from chaos.injection import Evidence
from chaos.simulation.injectors.steps import SimulatedInjection
from chaos.simulation.kernel.clock import ns
from chaos.simulation.world import World

TAKES_S = (0.6, 2.5)
"""From the death of the primary until the Sentinels have agreed on another one: minimum, maximum."""


class SimulatedRedisFailover(SimulatedInjection):
    """Between the death of the primary and its bite, connections are refused."""

    def __init__(self, fault: FailOverRedis, world: World, chance: Random) -> None:
        super().__init__(fault, "redis", world)
        self._behind_ns = ns(fault.behind_s)
        self._takes_ns = ns(chance.uniform(*TAKES_S))
        self._due_ns = 0
        self._taken_over = False

    def await_bite(self, timeout_s: float) -> Evidence:
        """Block the calling fiber until the replica has taken over.

        Raises:
            FaultDidNotBite: not in time.
        """
        scheduler = self._world.scheduler
        if self._behind_ns:
            scheduler.rest(self._behind_ns)
            self._behind_ns = 0
            self._die()
        if not self._taken_over:
            scheduler.rest(max(0, min(self._due_ns - scheduler.now_ns, ns(timeout_s))))
            if scheduler.now_ns < self._due_ns:
                raise FaultDidNotBite(self._fault.name, self.target, "the Sentinels have not agreed yet")
            self._world.cache.fail_over()
            self._take_over()
        return Evidence(self._words(), at_ns=self._due_ns)

    def _obstacle(self) -> str:
        return "" if self._world.cache.up else "its primary is down already"

    def _strike(self) -> None:
        if self._behind_ns:
            self._world.cache.hold_replication()
        else:
            self._die()

    def _die(self) -> None:
        self._due_ns = self._world.now_ns + self._takes_ns
        self._world.cache.kill()

    def _words(self) -> str:
        return "the replica has taken over"

    def _lift(self) -> None:
        if not self._taken_over:
            self._take_over()  # as the primary that it still is

    def _take_over(self) -> None:
        self._taken_over = True
        self._world.cache.start()


def inject(fault: FailOverRedis, world: World, chance: Random) -> SimulatedRedisFailover:
    """The injection of one such fault."""
    return SimulatedRedisFailover(fault, world, chance)

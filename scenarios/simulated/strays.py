"""Messages in the work queue that the system never sent: a world puts them there, and the system must neither stumble nor stop."""

from collections.abc import Sequence
from functools import partial

from chaos.simulation.kernel.clock import ns
from chaos.simulation.world import World
from scenarios.simulated.worlds.plan import PlannedStray

LOOK_EVERY_S = 0.05
PATIENCE_S = 5.0
"""How long after its time a message waits for a broker that is up and a queue that has a consumer."""


class Strays:
    """Puts each message at its time into the first queue that has a consumer. `arrived`: how many got there."""

    def __init__(self, world: World, strays: Sequence[PlannedStray]) -> None:
        self.arrived = 0
        self._world = world
        self._strays = strays

    def spawn(self) -> None:
        """A fiber for each."""
        for number, stray in enumerate(self._strays, start=1):
            self._world.spawn(f"stray-{number}", partial(self._put, stray))

    def missed(self) -> list[str]:
        """The messages that found no queue."""
        lacking = len(self._strays) - self.arrived
        return [f"{lacking} strange messages found no queue with a consumer"] if lacking else []

    def _put(self, stray: PlannedStray) -> None:
        world = self._world
        world.scheduler.rest(ns(stray.at_s))
        until_ns = world.now_ns + ns(PATIENCE_S)
        while world.now_ns < until_ns:
            consumed = [queue.name for queue in world.broker.queues.values() if queue.subscriptions]
            if world.broker.up and consumed:
                world.broker.receive(consumed[0], stray.body.encode("latin-1"), self._note)
                return
            world.scheduler.rest(ns(LOOK_EVERY_S))

    def _note(self, is_routed: bool) -> None:
        self.arrived += is_routed

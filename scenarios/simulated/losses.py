"""Messages that the broker loses although it has confirmed them: for a time, in few worlds. The system has to send them again."""

from chaos.simulation.kernel.clock import ns
from chaos.simulation.world import World
from scenarios.simulated.worlds.plan import PlannedLoss


def spawn_loss(world: World, loss: PlannedLoss) -> None:
    """A fiber that lets the broker lose every new message, from the planned time on, for as long as planned."""

    def lose() -> None:
        world.scheduler.rest(ns(loss.at_s))
        world.broker.loses = True
        world.scheduler.rest(ns(loss.lasts_s))
        world.broker.loses = False

    world.spawn("loss", lose)

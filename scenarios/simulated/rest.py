"""Rest: after the last task, a system finishes its own work (messages to send, rows to delete), and then has none left."""

from sqlalchemy import Engine

from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Scheduler
from scenarios.simulated.system import ComesToRest, Simulation

LOOK_EVERY_S = 0.2


def await_rest(scheduler: Scheduler, simulation: Simulation, engine: Engine) -> list[str]:
    """Wait until the system has no work left, at most as long as it states. What is left then, a sentence each: it never comes to rest."""
    if not isinstance(simulation, ComesToRest):
        return []
    until_ns = scheduler.now_ns + ns(simulation.rests_within_s)
    while left := simulation.work_left(engine):
        if scheduler.now_ns >= until_ns:
            return [f"no rest: {one} {simulation.rests_within_s:g} s after the last task" for one in left]
        scheduler.rest(ns(LOOK_EVERY_S))
    return []

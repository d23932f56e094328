"""Series of worlds by name: a world for every number. A scenario of the catalogue, the swarm, or the crash points."""

from collections.abc import Callable

from scenarios.lookup import find_scenario, scenario_names
from scenarios.simulated.system import Simulation
from scenarios.simulated.worlds import catalogue, crash_points, swarm
from scenarios.simulated.worlds.plan import WorldPlan

Series = Callable[[int], WorldPlan]
"""From a seed or number to a world."""


def series_names() -> list[str]:
    """The names of all series."""
    return [swarm.NAME, crash_points.NAME, *scenario_names()]


def find_series(name: str, simulation: Simulation) -> Series:
    """The series of that name for a system.

    Raises:
        UnknownName: there is none.
    """
    terms = simulation.terms
    if name == swarm.NAME:
        return lambda seed: swarm.world_of(seed, terms)
    if name == crash_points.NAME:
        points = crash_points.CrashPoints(simulation)
        return points.world_of
    scenario = find_scenario(name)
    return lambda seed: catalogue.world_of(scenario, seed, terms)

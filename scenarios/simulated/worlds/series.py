"""Series of worlds by name: a world for every number. A scenario of the catalogue, the swarm, or the crash points.

A name with `-without-NET` at its end is the same series with that safety net off.
"""

from collections.abc import Callable

import msgspec

from scenarios.experiment.fitting import check_capabilities
from scenarios.lookup import find_scenario, scenario_names
from scenarios.simulated.system import Simulation, Terms, without
from scenarios.simulated.worlds import catalogue, crash_points, swarm
from scenarios.simulated.worlds.plan import WorldPlan

Series = Callable[[int], WorldPlan]
"""From a seed or number to a world."""


def series_names(terms: Terms) -> list[str]:
    """The names of all series that a system with these terms can have."""
    able = (name for name in scenario_names() if catalogue.capabilities_in(terms).issuperset(find_scenario(name).needs))
    return [swarm.NAME, crash_points.NAME, *able]


_WITHOUT = "-without-"


def name_without(name: str, net: str) -> str:
    """The name of the series where that safety net is off; without a net, its own name."""
    return f"{name}{_WITHOUT}{net}" if net else name


def base_of(name: str) -> str:
    """The series or scenario of which this is the series, perhaps without a net."""
    return name.partition(_WITHOUT)[0]


def find_series(name: str, simulation: Simulation) -> Series:
    """The series of that name for a system.

    Raises:
        UnknownName: there is none, or no such safety net.
        NotApplicable: the system does not say what it promises without a safety net, or lacks a capability that the scenario needs.
    """
    base, _, net = name.partition(_WITHOUT)
    if net:
        bare = find_series(base, without(simulation, net))
        return lambda seed: msgspec.structs.replace(bare(seed), without=net)
    terms = simulation.terms
    if name == swarm.NAME:
        return lambda seed: swarm.world_of(seed, terms)
    if name == crash_points.NAME:
        points = crash_points.CrashPoints(simulation)
        return points.world_of
    scenario = find_scenario(name)
    check_capabilities(scenario, catalogue.capabilities_in(terms))
    return lambda seed: catalogue.world_of(scenario, seed, terms)

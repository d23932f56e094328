"""Finds scenarios and systems by name; a name that is not there gets the nearest ones for an answer."""

import difflib
import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable

from scenarios import catalogue
from scenarios.errors import UnknownName
from scenarios.scenario import Scenario
from scenarios.system import System

SYSTEMS_GROUP = "tasklab.systems"


def scenario_names() -> list[str]:
    """Every scenario of the catalogue, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(catalogue.__path__))


def find_scenario(name: str) -> Scenario:
    """The scenario of the catalogue, or the one that `package.module:attribute` names.

    Raises:
        UnknownName: there is none.
    """
    if ":" in name:
        found = _load("scenario", name)
        if not isinstance(found, Scenario):
            raise UnknownName("scenario", name, ())
        return found
    if name not in scenario_names():
        raise UnknownName("scenario", name, nearest(name, scenario_names()))
    scenario: Scenario = importlib.import_module(f"{catalogue.__name__}.{name}").SCENARIO
    return scenario


def system_names() -> list[str]:
    """Every system that this or another installed distribution brings, sorted."""
    return sorted(point.name for point in importlib.metadata.entry_points(group=SYSTEMS_GROUP))


def find_system(name: str) -> System:
    """The installed system of that name, or the one that `package.module:attribute` names.

    Raises:
        UnknownName: there is none.
    """
    if ":" in name:
        found = _load("system", name)
        if not isinstance(found, System):
            raise UnknownName("system", name, ())
        return found
    for point in importlib.metadata.entry_points(group=SYSTEMS_GROUP):
        if point.name == name:
            system: System = point.load()
            return system
    raise UnknownName("system", name, nearest(name, system_names()))


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Up to three names that look like it."""
    return difflib.get_close_matches(name, list(names), n=3, cutoff=0.4)


def _load(kind: str, place: str) -> object:
    module, _, attribute = place.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UnknownName(kind, f"{place}: {error}", ()) from error

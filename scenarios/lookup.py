"""Finds scenarios and systems by name; a name that is not there gets the nearest ones for an answer."""

import difflib
import importlib
import importlib.metadata
import importlib.util
import pkgutil
from collections.abc import Iterable

from scenarios import catalogue
from scenarios.contract.system import System
from scenarios.errors import UnknownName, WrongUsage
from scenarios.experiment.scenario import Scenario
from scenarios.judging.guarantees import Guarantee

SYSTEMS_GROUP = "tasklab.systems"
SYSTEM_MEMBERS = ("name", "claims", "needs", "processes", "client")


def scenario_names() -> list[str]:
    """Every scenario of the catalogue, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(catalogue.__path__))


def find_scenario(name: str) -> Scenario:
    """The scenario of the catalogue, or the one that `package.module:attribute` names.

    Raises:
        UnknownName: there is none in the catalogue or installed.
        WrongUsage: package.module:attribute leads to none.
    """
    if ":" in name:
        found = _load(name)
        if not isinstance(found, Scenario):
            raise WrongUsage(
                f"{name} is no scenario but a {type(found).__name__}: see scenarios/catalogue for what one looks like"
            )
        return found
    if name not in scenario_names():
        raise UnknownName("scenario", name, nearest(name, scenario_names()))
    scenario: Scenario = importlib.import_module(f"{catalogue.__name__}.{name}").SCENARIO
    return scenario


def system_names() -> list[str]:
    """Every system that this or another installed distribution brings, sorted."""
    return sorted(point.name for point in importlib.metadata.entry_points(group=SYSTEMS_GROUP))


def find_system(name: str) -> System:
    """The installed system or the mutant of that name, or the one that `package.module:attribute` names.

    Raises:
        UnknownName: there is none installed, or it claims a promise that does not exist.
        WrongUsage: package.module:attribute leads to none.
    """
    if ":" in name:
        found = _load(name)
        lacking = [member for member in SYSTEM_MEMBERS if not hasattr(found, member)]
        if lacking:
            raise WrongUsage(
                f"{name} is no system under test: it lacks {', '.join(lacking)} (docs/writing_a_system.md)"
            )
        assert isinstance(found, System), "it has all members of the protocol"
        return _with_known_claims(found)
    for point in importlib.metadata.entry_points(group=SYSTEMS_GROUP):
        if point.name == name:
            return _with_known_claims(_load_installed(point))
    return _find_mutant(name)


def _find_mutant(name: str) -> System:
    """Reports call a mutant by its name alone, as any system; what is neither was meant to be one of both."""
    from scenarios.systems.mutants.catalogue import find_mutant, mutant_names  # imports this module

    if name not in mutant_names():
        raise UnknownName("system", name, nearest(name, [*system_names(), *mutant_names()]))
    mutant: object = find_mutant(name)
    assert isinstance(mutant, System), "it is the reference but for one thing"
    return mutant


def _with_known_claims(system: System) -> System:
    known = [guarantee.value for guarantee in Guarantee]
    for claim in sorted(system.claims):
        if claim not in known:
            raise UnknownName("promise", claim, nearest(claim, known))
    return system


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Up to three names that look like it."""
    return difflib.get_close_matches(name, list(names), n=3, cutoff=0.4)


def _load_installed(point: importlib.metadata.EntryPoint) -> System:
    try:
        system: System = point.load()
    except (Exception, SystemExit) as error:
        raise WrongUsage(f"the installed system {point.name!r} ({point.value}) does not load: {error!r}") from error
    return system


def address_of(module_name: str) -> str:
    """A system of the lab by the name that tokens and run.json hold, also where a wheel has put it; any other name as it is."""
    ours = module_name.removeprefix("scenarios.systems.")
    home = f"{__package__}.systems"
    is_ours = ours != module_name and importlib.util.find_spec(f"{home}.{ours.partition('.')[0]}") is not None
    return f"{home}.{ours}" if is_ours else module_name


def _load(place: str) -> object:
    """What `package.module:attribute` names.

    Raises:
        WrongUsage: there is no such module, it does not load, or it has no such attribute.
    """
    module_name, _, attribute = place.partition(":")
    try:
        module = importlib.import_module(address_of(module_name))
    except ImportError as error:
        raise WrongUsage(f"{place}: {error}; is it installed, or on PYTHONPATH?") from error
    except (Exception, SystemExit) as error:  # a script without `if __name__ == "__main__"` may end the process
        raise WrongUsage(f"{place}: the module does not load: {error!r}") from error
    if not hasattr(module, attribute):
        public = [name for name in vars(module) if not name.startswith("_")]
        hint = " or ".join(nearest(attribute, public))
        raise WrongUsage(f"{place}: {module_name} has no {attribute!r}" + (f"; did you mean {hint}?" if hint else ""))
    found: object = getattr(module, attribute)
    return found

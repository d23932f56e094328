"""Finds scenarios and systems by name or by address; an unknown name is answered with the most similar ones."""

import importlib
import importlib.metadata
import importlib.util
import pkgutil
from functools import cache

from scenarios import catalogue
from scenarios.contract.system import System
from scenarios.errors import UnknownName, WrongUsage, nearest
from scenarios.experiment.scenario import Scenario
from scenarios.judging.guarantees import Guarantee

SYSTEMS_GROUP = "tasklab.systems"
SYSTEM_MEMBERS = ("name", "claims", "needs", "processes", "client")
MUTANTS = "scenarios.systems.mutants"
"""The package of the mutants, one system per module, by the name that tokens use: this module imports no system."""
CONTROL = "control"
"""The module of `MUTANTS` without a planted defect; found by its address only."""
_MOVED = {
    f"scenarios.systems.{name}:system": f"scenarios.systems.{name}.plugin:system" for name in ("reference", "naive")
}
"""Addresses in run directories and tokens of earlier versions, with their current equivalents."""


def scenario_names() -> list[str]:
    """Every scenario of the catalogue, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(catalogue.__path__))


def find_scenario(name: str) -> Scenario:
    """The scenario of the catalogue, or the scenario at `package.module:attribute`.

    Raises:
        UnknownName: there is none of that name in the catalogue.
        WrongUsage: there is no scenario at package.module:attribute.
    """
    if ":" in name:
        found = _load(name)
        if not isinstance(found, Scenario):
            raise WrongUsage(f"{name} is not a scenario but a {type(found).__name__}; scenarios/catalogue has examples")
        return found
    if name not in scenario_names():
        raise UnknownName("scenario", name, scenario_names())
    scenario: Scenario = importlib.import_module(f"{catalogue.__name__}.{name}").SCENARIO
    return scenario


@cache
def scenarios_testing(promise: str) -> tuple[str, ...]:
    """The scenarios of the catalogue in which the promise is at stake; those whose faults strike no service come first."""
    found = [find_scenario(name) for name in scenario_names()]
    testing = [scenario for scenario in found if promise in scenario.at_stake]
    return tuple(scenario.name for scenario in sorted(testing, key=_strikes_services))


def _strikes_services(scenario: Scenario) -> bool:
    return any(strike.fault.struck_service is not None for strike in scenario.strikes)


def system_names() -> list[str]:
    """Every system of an installed distribution, sorted."""
    return sorted(point.name for point in importlib.metadata.entry_points(group=SYSTEMS_GROUP))


def mutant_names() -> list[str]:
    """Every mutant of the reference, sorted. A mutant is the attribute `system` of a module of `MUTANTS`, and has the module's name."""
    package = importlib.util.find_spec(address_of(MUTANTS))
    assert package is not None, "the lab comes with its mutants"
    modules = [module.name for module in pkgutil.iter_modules(package.submodule_search_locations)]
    return sorted(name for name in modules if name != CONTROL and not name.startswith("_"))


def find_system(name: str) -> System:
    """The installed system or the mutant of that name, or the system at `package.module:attribute`.

    Raises:
        UnknownName: there is none of that name, or it claims a guarantee that does not exist.
        WrongUsage: there is no system at package.module:attribute.
    """
    if ":" in name:
        return _system_at(_MOVED.get(name, name))
    for point in importlib.metadata.entry_points(group=SYSTEMS_GROUP):
        if point.name == name:
            return _with_known_claims(_load_installed(point))
    if name not in mutant_names():
        raise UnknownName("system", name, [*system_names(), *mutant_names()])
    return _system_at(f"{MUTANTS}.{name}:system")


def _system_at(address: str) -> System:
    found = _load(address)
    lacking = [member for member in SYSTEM_MEMBERS if not hasattr(found, member)]
    if lacking:
        raise WrongUsage(
            f"{address} is not a system under test: it lacks {', '.join(lacking)} (docs/writing_a_system.md)"
        )
    assert isinstance(found, System), "it has all members of the protocol"
    return _with_known_claims(found)


def _with_known_claims(system: System) -> System:
    known = [guarantee.value for guarantee in Guarantee]
    for claim in sorted(system.claims):
        if claim not in known:
            raise UnknownName("promise", claim, known)
    return system


def _load_installed(point: importlib.metadata.EntryPoint) -> System:
    try:
        system: System = point.load()
    except (Exception, SystemExit) as error:
        raise WrongUsage(f"the installed system {point.name!r} ({point.value}) does not load: {error!r}") from error
    return system


def address_of(module_name: str) -> str:
    """The import name of a module: tokens and run.json name the lab's systems `scenarios.systems.…`; in a wheel they are elsewhere."""
    ours = module_name.removeprefix("scenarios.systems.")
    home = f"{__package__}.systems"
    is_ours = ours != module_name and importlib.util.find_spec(f"{home}.{ours.partition('.')[0]}") is not None
    return f"{home}.{ours}" if is_ours else module_name


def is_own(address: str) -> bool:
    """Whether `package.module:attribute` is in the lab itself, by its name in tokens or as it is installed."""
    module_name = address.partition(":")[0]
    if module_name.startswith("tasklab."):
        return True
    first = module_name.removeprefix("scenarios.systems.").partition(".")[0]
    is_system = module_name.startswith("scenarios.systems.")
    return is_system and importlib.util.find_spec(f"{__package__}.systems.{first}") is not None


def is_registered(name: str) -> bool:
    """Whether the name can import only registered code: a name in a list, or an address in the lab itself."""
    module_name, colon, _ = name.partition(":")
    return not colon or (all(part.isidentifier() for part in module_name.split(".")) and is_own(name))


def _load(address: str) -> object:
    """The object at `package.module:attribute`.

    Raises:
        WrongUsage: there is no such module, importing it fails, or it has no such attribute.
    """
    module_name, _, attribute = address.partition(":")
    try:
        module = importlib.import_module(address_of(module_name))
    except ImportError as error:
        raise WrongUsage(f"{address}: {error}; is it installed, or on PYTHONPATH?") from error
    except (Exception, SystemExit) as error:  # a script without `if __name__ == "__main__"` may end the process
        raise WrongUsage(f"{address}: importing the module fails: {error!r}") from error
    if not hasattr(module, attribute):
        public = [name for name in vars(module) if not name.startswith("_")]
        hint = " or ".join(nearest(attribute, public))
        raise WrongUsage(f"{address}: {module_name} has no {attribute!r}" + (f"; did you mean {hint}?" if hint else ""))
    found: object = getattr(module, attribute)
    return found

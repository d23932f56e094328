"""The mutants by name: one a file, and the file's name is the mutant's."""

import importlib
import pkgutil
from pathlib import Path

from scenarios.errors import UnknownName
from scenarios.lookup import nearest
from scenarios.systems.mutants.mutant import Mutant

_NOT_MUTANTS = frozenset({"__main__", "catalogue", "mutant", "control"})


def mutant_names() -> list[str]:
    """Every mutant, sorted."""
    here = str(Path(__file__).parent)
    return sorted(module.name for module in pkgutil.iter_modules([here]) if module.name not in _NOT_MUTANTS)


def find_mutant(name: str) -> Mutant:
    """The mutant of that name.

    Raises:
        UnknownName: there is none.
    """
    if name not in mutant_names():
        raise UnknownName("mutant", name, nearest(name, mutant_names()))
    mutant: Mutant = importlib.import_module(f"{__package__}.{name}").system
    return mutant

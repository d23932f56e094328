"""`tasklab list`: the names that other commands take."""

from enum import StrEnum
from typing import Annotated

import typer

from tasklab.exit_codes import explained
from tasklab.presentation.terminal import console, print_json


class Kind(StrEnum):
    """A kind of name."""

    SCENARIOS = "scenarios"
    SYSTEMS = "systems"
    FAULTS = "faults"
    GUARANTEES = "guarantees"
    MUTANTS = "mutants"


def list_names(
    kind: Annotated[Kind, typer.Argument(metavar="scenarios|systems|faults|guarantees|mutants", help="What to list.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON: a list of {name, says}.")] = False,
) -> None:
    """List scenarios, systems, faults, guarantees or mutants, with a sentence each."""
    with explained():
        entries = _ENTRIES[kind]()
    if as_json:
        print_json([{"name": name, "says": says} for name, says in entries])
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, sentence in entries:
        table.add_row(Text(name, style="bold"), Text(sentence))
    console().print(table)


def _scenarios() -> list[tuple[str, str]]:
    from scenarios.lookup import find_scenario, scenario_names

    return [(name, find_scenario(name).story) for name in scenario_names()]


def _systems() -> list[tuple[str, str]]:
    from scenarios.lookup import system_names
    from scenarios.plugin.opening import open_system

    entries = []
    for name in system_names():
        system = open_system(name)
        says = (type(system).__doc__ or "").strip().split("\n")[0]
        needs = ", ".join(sorted(system.needs)) or "nothing"
        entries.append((name, f"{says} Needs {needs}; claims {len(system.claims)} promises."))
    return entries


def _faults() -> list[tuple[str, str]]:
    from chaos.faults import FAULTS

    return [(name, (kind.__doc__ or "").split("\n")[0]) for name, kind in FAULTS.items()]


def _guarantees() -> list[tuple[str, str]]:
    from scenarios.judging.guarantees import Guarantee

    return [(guarantee.value, guarantee.sentence) for guarantee in Guarantee]


def _mutants() -> list[tuple[str, str]]:
    from scenarios.lookup import mutant_names
    from scenarios.systems.mutant import find_mutant

    return [(name, find_mutant(name).defect) for name in mutant_names()]


_ENTRIES = {
    Kind.SCENARIOS: _scenarios,
    Kind.SYSTEMS: _systems,
    Kind.FAULTS: _faults,
    Kind.GUARANTEES: _guarantees,
    Kind.MUTANTS: _mutants,
}

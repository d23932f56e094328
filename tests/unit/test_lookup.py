"""Scenarios and systems are found by the names and addresses that reports, run directories and tokens hold."""

from pathlib import Path

import pytest

import scenarios.systems.mutants
from chaos.environment import Services
from scenarios.contract.system import Handlers
from scenarios.errors import UnknownName, WrongUsage, nearest
from scenarios.lookup import CONTROL, MUTANTS, find_scenario, find_system, mutant_names, system_names
from scenarios.simulated.search.token import read_token
from scenarios.systems.mutant import Delegate, Mutant, find_mutant


@pytest.mark.parametrize("name", ["reference", "naive"])
def test_an_address_of_an_earlier_version_still_leads_to_its_system(name: str) -> None:
    assert find_system(f"scenarios.systems.{name}:system") is find_system(name)


@pytest.mark.parametrize("name", ["reference", "naive"])
def test_a_token_of_an_earlier_version_still_leads_to_its_system(name: str) -> None:
    token = read_token(f"swarm~scenarios.systems.{name}:system~7")

    assert (find_system(token.system), token.seed) == (find_system(name), 7)


def test_every_module_of_the_package_is_a_mutant_or_the_control() -> None:
    modules = {file.stem for file in Path(scenarios.systems.mutants.__path__[0]).glob("[!_]*.py")}

    assert modules == {*mutant_names(), CONTROL}


@pytest.mark.parametrize("name", [*mutant_names(), CONTROL])
def test_a_mutant_is_found_by_its_address_and_has_the_name_of_its_module(name: str) -> None:
    mutant = find_system(f"{MUTANTS}.{name}:system")

    assert isinstance(mutant, Mutant)
    assert mutant.name == name
    assert find_mutant(name) is mutant


@pytest.mark.parametrize("name", mutant_names())
def test_a_mutant_is_found_by_name_like_any_system_and_states_its_defect_and_what_finds_it(name: str) -> None:
    mutant = find_system(name)

    assert isinstance(mutant, Mutant)
    assert mutant.defect
    assert mutant.expected


def test_the_control_has_no_defect_and_is_no_mutant() -> None:
    assert CONTROL not in mutant_names()
    assert find_mutant(CONTROL).defect == ""


@pytest.mark.parametrize(
    ("find", "name", "message"),
    [
        (find_system, "referense", "there is no system 'referense'; did you mean reference"),
        (find_system, "key_per_atempt", "there is no system 'key_per_atempt'; did you mean key_per_attempt"),
        (find_mutant, "no_outbx", "there is no mutant 'no_outbx'; did you mean no_outbox"),
        (find_mutant, "zzzz", "there is no mutant 'zzzz'; `tasklab list mutants` names all"),
        (find_scenario, "ack_lots", "there is no scenario 'ack_lots'; did you mean ack_lost"),
    ],
)
def test_an_unknown_name_is_answered_with_similar_ones(find: object, name: str, message: str) -> None:
    with pytest.raises(UnknownName) as caught:
        find(name)  # type: ignore[operator]

    assert str(caught.value).startswith(message)


def test_the_most_similar_names_come_first() -> None:
    assert nearest("reference", ["naive", "referenced", "reference"]) == ["reference", "referenced"]


def test_an_address_that_leads_to_no_system_is_refused_in_a_sentence() -> None:
    with pytest.raises(WrongUsage, match=r"scenarios\.lookup:MUTANTS is not a system under test: it lacks name, "):
        find_system("scenarios.lookup:MUTANTS")


def test_the_processes_of_a_mutant_are_its_own_program(tmp_path: Path) -> None:
    spec = find_mutant(CONTROL).embedded_processes(Services("run", tmp_path, 8000), Handlers({}))[0]

    assert list(spec.argv[1:]) == ["-P", "-m", MUTANTS, CONTROL, "embedded"]


def test_a_delegate_passes_on_what_it_does_not_define() -> None:
    class Doubled(Delegate):
        def index(self, item: int) -> int:
            return 2 * int(self.inner.index(item))

    doubled = Doubled([5, 6, 6])

    assert (doubled.index(6), doubled.count(6)) == (2, 2)


def test_every_installed_system_is_found_by_its_name() -> None:
    assert {find_system(name).name for name in system_names()} == set(system_names())

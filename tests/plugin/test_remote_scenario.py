"""A scenario of the user's own reaches the lab as data, whole or not at all."""

import sys
from dataclasses import is_dataclass
from pathlib import Path

import pytest

import tasklab.scenario as public
from chaos.faults import FAULTS
from scenarios.errors import WrongUsage
from scenarios.experiment import scenario as words
from scenarios.experiment.scenario import Deed, EnoughWork, Premise, Scenario, Trait, Trigger
from scenarios.experiment.triggers import TRIGGERS
from scenarios.plugin import host
from scenarios.plugin.remote_scenario import remote_scenario
from tests.plugin import misbehaving

ROOT = Path(__file__).parents[2]


def read(attribute: str) -> Scenario:
    name = f"tests.plugin.misbehaving:{attribute}"
    return remote_scenario([sys.executable, host.__file__, name], name, directory=ROOT)


def test_a_scenario_arrives_as_it_was_written() -> None:
    assert read("own_scenario") == misbehaving.own_scenario


@pytest.mark.parametrize(
    ("attribute", "why"),
    [
        ("vague_scenario", "there is no promise 'no_lost_tusk'; did you mean no_lost_task"),
        ("odd_scenario", "holds a 'Pace', which a scenario cannot hold"),
        ("healthy", "misbehaving:healthy returned <tests.plugin.misbehaving.Healthy object .*>, not Scenario"),
        ("own_scenarios", "has no 'own_scenarios'; did you mean own_scenario"),
    ],
)
def test_what_is_no_scenario_is_refused(attribute: str, why: str) -> None:
    with pytest.raises(WrongUsage, match=why):
        read(attribute)


def test_every_trigger_is_among_the_words_of_a_scenario() -> None:
    assert {name: vars(words).get(name) for name in TRIGGERS} == TRIGGERS


def test_the_example_on_the_page_is_the_one_in_the_file() -> None:
    page = (ROOT / "docs" / "writing_a_scenario.md").read_text()
    file = (ROOT / "docs" / "examples" / "acme" / "lunch_break.py").read_text()

    assert file[file.index("scenario = Scenario(") :] in page


def test_the_example_of_the_page_is_a_scenario() -> None:
    place = "acme.lunch_break:scenario"

    found = remote_scenario([sys.executable, host.__file__, place], place, directory=ROOT / "docs" / "examples")

    assert found.name == "lunch_break"


def test_every_word_of_a_scenario_is_public_and_on_the_page() -> None:
    base_classes = {Trait, Deed, Trigger, Premise, EnoughWork}
    kinds = {kind for kind in vars(words).values() if isinstance(kind, type) and is_dataclass(kind)} - base_classes
    page = (ROOT / "docs" / "writing_a_scenario.md").read_text()

    named = {kind.__name__ for kind in {*kinds, *FAULTS.values()}} - {"Fault"}

    assert {name for name in named if not hasattr(public, name)} == set()
    assert {name for name in named if f"`{name}" not in page and f"{name}(" not in page} == set()

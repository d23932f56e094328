"""Tokens, stories, and what a campaign makes of its arguments."""

import pytest
from msgspec.structs import replace

from scenarios.errors import NotARange, NotAToken
from scenarios.record.run_facts import Turn
from scenarios.simulated.run import simulate
from scenarios.simulated.search.campaign import seeds_of
from scenarios.simulated.search.explore import Work, explorer_of, works_of
from scenarios.simulated.search.story import told_once
from scenarios.simulated.search.tally import Tally
from scenarios.simulated.search.token import Token, read_token
from scenarios.simulated.worlds import swarm
from scenarios.simulated.worlds.plan import DelayPlan
from scenarios.systems.reference.simulated import ReferenceSimulation

SIMULATION = ReferenceSimulation()


@pytest.mark.parametrize("seed", [1, 27, 413])
def test_a_world_in_one_word_is_the_same_world(seed: int) -> None:
    plan = swarm.world_of(seed, SIMULATION.terms)

    repeated = read_token(str(Token("swarm", "reference", seed, plan)))

    assert repeated.plan == plan
    assert repeated.plan is not None
    assert simulate(repeated.plan, SIMULATION).digest() == simulate(plan, SIMULATION).digest()


def test_a_seed_in_one_word_can_be_read_by_people() -> None:
    token = Token("broker_killed", "acme.lab:system", 7)

    assert str(token) == "broker_killed~acme.lab:system~7"
    assert read_token(str(token)) == token


@pytest.mark.parametrize(
    "text",
    ["", "bla", "a~b", "a~b~c", "world~", "world~AAAA", "world~eNpd", "world~ä", f"swarm~reference~{'9' * 5000}"],
)
def test_what_is_no_token_says_so(text: str) -> None:
    with pytest.raises(NotAToken):
        read_token(text)


def test_delays_that_were_drawn_can_be_stated() -> None:
    plan = swarm.world_of(27, SIMULATION.terms)
    drawn = simulate(plan, SIMULATION, keep_delays=True)
    assert drawn.deviations

    stated = {fiber: dict(legs) for fiber, legs in drawn.deviations.items()}
    world = simulate(replace(plan, delays=DelayPlan(stated=stated)), SIMULATION)

    assert world.digest() == drawn.digest()


@pytest.mark.parametrize(
    ("seeds", "shard", "expected"),
    [("1..5", "1/1", [1, 2, 3, 4, 5]), ("1..5", "1/2", [1, 3, 5]), ("1..5", "2/2", [2, 4]), ("7..7", "3/3", [])],
)
def test_a_shard_has_every_nth_seed(seeds: str, shard: str, expected: list[int]) -> None:
    assert list(seeds_of(seeds, shard, until_s=None)) == expected


@pytest.mark.parametrize(
    ("seeds", "shard"), [("5", "1/1"), ("5..1", "1/1"), ("1..5", "0/2"), ("1..5", "3/2"), ("1..5", "x")]
)
def test_what_is_no_range_and_no_shard_says_so(seeds: str, shard: str) -> None:
    with pytest.raises(NotARange):
        list(seeds_of(seeds, shard, until_s=None))


def test_steps_that_come_again_and_again_are_told_once() -> None:
    turns = [Turn(n, actor, f"{actor} does it for time {n}") for n in range(4) for actor in ("a", "b")]
    end = Turn(9, "c", "ends it")

    told = told_once([*turns, end])

    assert [turn.actor for turn in told] == ["a", "b", "and", "c"]
    assert told[2].text == "these 2 steps come again, 3 more times"


def test_what_comes_twice_is_told_twice() -> None:
    turns = [Turn(n, actor, "does it") for n in range(2) for actor in ("a", "b")]

    assert told_once(turns) == turns


def test_a_tally_holds_only_if_every_world_did() -> None:
    explorer = explorer_of("reference")
    row = explorer.run(Work("swarm", 1, with_digest=True))
    tally = Tally()
    assert tally.exit_code == 3

    tally.add(row)
    tally.check(row, row)

    assert (tally.exit_code, tally.worlds, tally.checked) == (0, 1, 1)
    assert row.digest is not None


def test_every_hundredth_seed_is_to_be_checked() -> None:
    works = list(works_of(["swarm"], range(1, 301)))

    assert [work.seed for work in works if work.with_digest] == [100, 200, 300]

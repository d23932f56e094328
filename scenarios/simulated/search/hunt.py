"""Searches worlds for a planted defect until it is found or time is up; then shrinks the world, and tells its story."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from scenarios.judging.guarantees import Guarantee
from scenarios.record.run_facts import Turn
from scenarios.simulated.run import Simulated, simulate
from scenarios.simulated.search.shrink import broken_promises, shrink
from scenarios.simulated.search.story import tell
from scenarios.simulated.search.token import Token
from scenarios.simulated.system import Simulation
from scenarios.simulated.worlds import swarm


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the search for one defect; `steps`: of its shrunk story, `seconds`: until it was found or given up."""

    name: str
    found: bool
    by: str | None
    expected_by: list[str]
    seeds: int
    seconds: float
    steps: int | None = None
    replay: str | None = None


@dataclass(frozen=True, slots=True)
class Catch:
    """A world in which one of the expected promises breaks."""

    seed: int
    promise: Guarantee
    world: Simulated


@dataclass(frozen=True, slots=True)
class ShrunkCatch:
    """A shrunk catch, with its story and the token that repeats it."""

    promise: Guarantee
    world: Simulated
    turns: Sequence[Turn]
    token: Token
    tries: int


def hunt(
    simulation: Simulation, expected: Sequence[Guarantee], seeds: Iterable[int], *, is_over: Callable[[], bool]
) -> tuple[Catch | None, int]:
    """The first world of the swarm, by these seeds, in which one of the promises breaks; and the number of worlds tried."""
    terms = simulation.terms
    tried = 0
    for seed in seeds:
        if is_over():
            break
        tried += 1
        world = simulate(swarm.world_of(seed, terms), simulation)
        found = [promise for promise in expected if promise in broken_promises(world)]
        if found:
            return Catch(seed, found[0], world), tried
    return None, tried


def shrink_and_tell(
    world: Simulated, simulation: Simulation, system_name: str, promise: Guarantee, *, is_over: Callable[[], bool]
) -> ShrunkCatch:
    """The smallest world found in which the promise still breaks, told step by step."""
    shrunk = shrink(world.plan, simulation, promise, is_over=is_over)
    plan = shrunk.world.plan
    token = Token(plan.scenario, system_name, plan.seed, plan)
    return ShrunkCatch(promise, shrunk.world, tell(shrunk.world, promise), token, shrunk.tries)

"""The search for a planted defect: simulated worlds until a promise breaks, then shrunk and told."""

import time
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarios.simulated.search.hunt import Finding, ShrunkCatch
    from scenarios.systems.mutant import Mutant

SHRINK_S = 15.0


def look_for(mutant: "Mutant", *, first_seed: int, seconds: float) -> "tuple[Finding, ShrunkCatch | None]":
    """Whether and by which promise the defect is found, and its story."""
    from scenarios.lookup import MUTANTS
    from scenarios.simulated.search.hunt import Finding, hunt, shrink_and_tell

    simulation = mutant.simulation()
    expected = [promise.value for promise in mutant.expected]
    began_s = time.monotonic()
    catch, seeds = hunt(
        simulation, mutant.expected, count(first_seed), is_over=lambda: time.monotonic() > began_s + seconds
    )
    took_s = round(time.monotonic() - began_s, 3)
    if catch is None:
        missed = Finding(name=mutant.name, found=False, by=None, expected_by=expected, seeds=seeds, seconds=took_s)
        return missed, None
    until_s = time.monotonic() + SHRINK_S
    told = shrink_and_tell(
        catch.world,
        simulation,
        f"{MUTANTS}.{mutant.name}:system",
        catch.promise,
        is_over=lambda: time.monotonic() > until_s,
    )
    found = Finding(
        name=mutant.name,
        found=True,
        by=catch.promise.value,
        expected_by=expected,
        seeds=seeds,
        seconds=took_s,
        steps=len(told.turns),
        replay=f"tasklab replay {told.token}",
    )
    return found, told

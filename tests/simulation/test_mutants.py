"""Every planted defect is found by a promise that has to find it, and told in few steps by a line that repeats it anywhere."""

import json
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from scenarios.lookup import mutant_names
from scenarios.simulated.run import simulate
from scenarios.simulated.search.hunt import hunt, shrink_and_tell
from scenarios.simulated.search.shrink import broken_promises
from scenarios.simulated.search.token import read_token
from scenarios.systems.mutant import find_mutant

WORLDS_MAX = 3000
STEPS_MAX = 15


def never() -> bool:
    return False


@pytest.mark.parametrize("name", mutant_names())
def test_a_planted_defect_is_found_and_its_story_is_short(name: str) -> None:
    mutant = find_mutant(name)
    simulation = mutant.simulation()
    seeds = (seed for seed, _ in zip(count(1), range(WORLDS_MAX), strict=False))

    catch, _ = hunt(simulation, mutant.expected, seeds, is_over=never)
    assert catch is not None, "not found"
    told = shrink_and_tell(
        catch.world, simulation, f"scenarios.systems.mutants.{name}:system", catch.promise, is_over=never
    )

    repeated = read_token(str(told.token))
    assert repeated.plan is not None
    again = simulate(repeated.plan, simulation)
    assert len(told.turns) <= STEPS_MAX
    assert catch.promise in broken_promises(again)
    assert again.digest() == told.world.digest()


def test_a_line_repeats_the_break_in_a_new_process_and_leaves_a_report(tmp_path: Path) -> None:
    mutant = find_mutant("key_per_attempt")
    simulation = mutant.simulation()
    catch, _ = hunt(simulation, mutant.expected, count(1), is_over=never)
    assert catch is not None
    told = shrink_and_tell(
        catch.world, simulation, "scenarios.systems.mutants.key_per_attempt:system", catch.promise, is_over=never
    )

    done = subprocess.run(
        [sys.executable, "-m", "tasklab", "replay", str(told.token), "--out", str(tmp_path), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )

    (run,) = json.loads(done.stdout)["runs"]
    assert done.returncode == 1
    assert run["verdicts"]["exactly_one_effect"]["verdict"] == "broken"
    assert Path(run["report"]).exists()

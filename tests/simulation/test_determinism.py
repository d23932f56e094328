"""Nothing enters a simulated world but through its seed."""

import os
import subprocess
import sys

PROGRAM = """
from scenarios.simulated.worlds import swarm
from scenarios.simulated.run import simulate
from scenarios.systems.reference.simulated import ReferenceSimulation

simulation = ReferenceSimulation()
for seed in range(1, 51):
    print(seed, simulate(swarm.world_of(seed, simulation.terms), simulation).digest())
"""


def test_two_processes_with_different_hash_seeds_see_the_same_worlds() -> None:
    first, second = (_digests(hash_seed) for hash_seed in ("0", "12345"))

    assert first == second
    assert len(set(first)) == 50


def _digests(hash_seed: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()

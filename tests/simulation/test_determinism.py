"""Nothing enters a simulated world but through its seed."""

import os
import subprocess
import sys

PROGRAM = """
from scenarios.simulated.plan import DelayPlan, PlannedTask, WorldPlan
from scenarios.simulated.run import simulate
from scenarios.systems.reference_simulated import ReferenceSimulation

for seed in range({first}, {last}):
    tasks = tuple(PlannedTask(0.01 * n, f"task-{{n}}", {{"task": f"task-{{n}}", "work_s": 0.02}}) for n in range(4))
    plan = WorldPlan("plain", seed, tasks, delays=DelayPlan("erratic", slow_share=0.2, slow_s=0.05))
    print(seed, simulate(plan, ReferenceSimulation()).digest())
"""


def test_two_processes_with_different_hash_seeds_see_the_same_worlds() -> None:
    program = PROGRAM.format(first=1, last=26)

    first, second = (_digests(program, hash_seed) for hash_seed in ("0", "12345"))

    assert first == second
    assert len(set(first)) == 25


def _digests(program: str, hash_seed: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()

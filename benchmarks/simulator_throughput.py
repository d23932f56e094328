"""Speed of simulated worlds on one core, judging included: worlds, task runs and scheduler steps per second, virtual time per real time.

Run: python benchmarks/simulator_throughput.py [--seconds N]

Only CPU time of this process counts, so that other work on the machine has little influence. `swarm`: the worlds of `tasklab simulate`,
with few tasks and many faults. `busy`: no fault, and 100 tasks that each go the whole way: submitted, published, confirmed, delivered,
claimed, effect, completed, acknowledged.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

from scenarios.judging.verdict import EXIT_HELD
from scenarios.lookup import find_system
from scenarios.simulated.run import simulate
from scenarios.simulated.system import Simulation, simulation_of
from scenarios.simulated.worlds import swarm
from scenarios.simulated.worlds.plan import PlannedTask, WorldPlan

BUSY_TASKS = 100
BETWEEN_S = 0.02
WARM_UP = 3
"""Number of worlds before the measurement; they compile the SQL statements."""


@dataclass(slots=True)
class Sums:
    """The sums over all worlds of one kind."""

    worlds: int = 0
    tasks: int = 0
    steps: int = 0
    virtual_s: float = 0.0
    cpu_s: float = 0.0

    def row(self, name: str) -> str:
        """A row of the table."""
        cpu_s = self.cpu_s
        return (
            f"| {name} | {self.worlds} | {self.worlds / cpu_s:,.0f} | {self.tasks / cpu_s:,.0f} | {self.steps / cpu_s:,.0f} "
            f"| {1000 * cpu_s / self.worlds:.1f} | {self.virtual_s / cpu_s:,.0f} : 1 |"
        )


def busy_world(seed: int) -> WorldPlan:
    """Tasks at equal distances, without any fault."""
    tasks = tuple(
        PlannedTask(number * BETWEEN_S, f"task-{number + 1}", {"task": f"task-{number + 1}"})
        for number in range(BUSY_TASKS)
    )
    return WorldPlan("busy", seed, tasks)


def measure(make: Callable[[int], WorldPlan], simulation: Simulation, *, seconds: float) -> Sums:
    """Run worlds with the seeds from 1, for `seconds` of CPU time.

    Raises:
        SystemExit: a guarantee did not hold in a world; the measurement would be invalid.
    """
    for seed in range(1, WARM_UP + 1):
        simulate(make(seed), simulation)
    sums = Sums()
    began_s = time.process_time()
    while sums.cpu_s < seconds:
        world = simulate(make(sums.worlds + 1), simulation)
        if world.judgement.exit_code != EXIT_HELD:
            raise SystemExit(f"world {sums.worlds + 1} did not hold")
        sums.worlds += 1
        sums.tasks += len(world.plan.tasks)
        sums.steps += world.steps
        sums.virtual_s += world.virtual_s
        sums.cpu_s = time.process_time() - began_s
    return sums


def main() -> None:
    """Measure both kinds, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15.0, help="CPU time for each kind")
    seconds = parser.parse_args().seconds
    simulation = simulation_of(find_system("reference"))
    print("| kind | worlds | worlds/s | task runs/s | steps/s | ms a world | virtual : real |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    print(measure(lambda seed: swarm.world_of(seed, simulation.terms), simulation, seconds=seconds).row("swarm"))
    print(measure(busy_world, simulation, seconds=seconds).row("busy"))


if __name__ == "__main__":
    main()

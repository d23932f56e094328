"""How long it takes on one core until each planted defect is found by the swarm, from different seeds on.

Run: python benchmarks/simulator_hunts.py [NAME…] [--starts N] [--seconds N]

CPU time of this process is counted, so that other work on the machine matters little. Hunt number k begins at seed 1 + 10,000 k, so
that no world is looked at twice.
"""

import argparse
import time
from itertools import count
from statistics import median

from scenarios.lookup import mutant_names
from scenarios.simulated.search.hunt import hunt
from scenarios.systems.mutant import find_mutant

APART = 10_000


def hunts(name: str, *, starts: int, seconds: float) -> list[tuple[bool, int, float]]:
    """For each start: whether it was found, worlds looked at, and seconds of CPU time; given up after `seconds`."""
    mutant = find_mutant(name)
    simulation = mutant.simulation()
    hunt(simulation, mutant.expected, range(1, 4), is_over=lambda: False)  # warm: statements are compiled
    results = []
    for start in range(starts):
        began_s = time.process_time()
        catch, worlds = hunt(
            simulation,
            mutant.expected,
            count(1 + APART * start),
            is_over=lambda began_s=began_s: time.process_time() > began_s + seconds,  # type: ignore[misc]
        )
        results.append((catch is not None, worlds, time.process_time() - began_s))
    return results


def main() -> None:
    """Hunt each defect from each start, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of the mutants; none: all")
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0, help="after which a hunt is given up")
    arguments = parser.parse_args()
    print("| defect | found | worlds, median | seconds, median | seconds, longest |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in arguments.names or mutant_names():
        results = hunts(name, starts=arguments.starts, seconds=arguments.seconds)
        found = sum(is_found for is_found, _, _ in results)
        worlds = median(worlds for _, worlds, _ in results)
        took_s = [took_s for _, _, took_s in results]
        print(
            f"| {name} | {found} of {len(results)} | {worlds:,.0f} | {median(took_s):.1f} | {max(took_s):.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

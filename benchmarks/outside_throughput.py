"""Requests per second that the outside resource answers; every attempt and every effect of a run is such a request.

Run: python benchmarks/outside_throughput.py [--seconds 5]
"""

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

from scenarios.contract.tasklab_probe import Outside
from scenarios.experiment.outside import Outside as Resource
from scenarios.real.flows import ThreadSignal
from scenarios.real.outside_server import OutsideServer
from scenarios.real.remote_probe import RemoteProbe
from scenarios.real.stage import FileRecords
from scenarios.stored.rundir import RunDirectory


def ask(address: str, name: str, seconds: float) -> int:
    """Send attempts and effects in turn, as a worker does; return the number of answered requests. Runs in a process of its own."""
    outside = Outside(address, name)
    until_s = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until_s:
        task = f"{name}-{number}"
        outside.arrive("attempt", task)
        outside.effect(task, attempt=1, key=task, fence=1)
        number += 1
    return 2 * number


def main() -> None:
    """Print a row for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    seconds = parser.parse_args().seconds
    print("| workers | requests/s | tasks/s |\n| ---: | ---: | ---: |")
    for workers in (1, 4, 16):
        with tempfile.TemporaryDirectory() as place:
            records = FileRecords(RunDirectory(Path(place)), "outside", time.monotonic_ns())
            probe = RemoteProbe(Resource(records, time.monotonic_ns, ThreadSignal), records)
            probe.admit(f"worker-{number}" for number in range(workers))
            server = OutsideServer(probe)
            server.start()
            with multiprocessing.get_context("spawn").Pool(workers) as pool:
                answered = sum(
                    pool.starmap(ask, [(server.address, f"worker-{number}", seconds) for number in range(workers)])
                )
            server.stop()
        print(f"| {workers} | {answered / seconds:,.0f} | {answered / seconds / 2:,.0f} |", flush=True)


if __name__ == "__main__":
    main()

"""How fast large histories are judged, and in how much memory: `python benchmarks/judge_large.py --events 1000000 10000000 [--seed N]`.

For each size a history with planted anomalies is written, and a process of its own judges all guarantees, from the files to the
verdicts, which must name exactly the planted anomalies. The output is a row of docs/performance.md.
"""

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.judge_histories import POLICY, write_history  # noqa: E402  # found by the line above
from scenarios.record.run_facts import RunFacts  # noqa: E402
from scenarios.stored.rundir import RunDirectory  # noqa: E402


def main() -> None:
    """Write, judge, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--troubled", type=float, default=0.04, help="share of tasks that are retried, crash, lose an ack or die"
    )
    parser.add_argument("--scratch", type=Path, default=None, help="directory with 100 bytes of free space per event")
    arguments = parser.parse_args()
    share = f"{arguments.troubled:.0%} of the tasks troubled"
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}, seed {arguments.seed}, {share}")
    print("| events | size | judged in | CPU | events/s | peak memory (largest process) | witnesses |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for events in arguments.events:
        with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
            print(measure(Path(scratch), events, arguments.seed, arguments.troubled), flush=True)


def measure(scratch: Path, events: int, seed: int, troubled: float) -> str:
    """One row of the table."""
    directory = RunDirectory(scratch / "run")
    directory.create()
    planted = write_history(directory.path, events=events, seed=seed, troubled=troubled)
    directory.write_facts(
        RunFacts(
            scenario="benchmark",
            system="none",
            environment="none",
            seed=seed,
            repeat="",
            claims=sorted(planted.broken),
            policy=dict(POLICY),
            finished=True,
        )
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.judge_large_one", str(directory.path)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    took_s = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    verdicts, peak_bytes = msgspec.json.decode(process.stdout)
    said = {name: tuple(verdict["witnesses"]) for name, verdict in verdicts["verdicts"].items()}
    assert said == dict(planted.broken), "the verdicts must name the planted anomalies, and nothing else"
    others = [name for name, verdict in verdicts["not_claimed"].items() if verdict["verdict"] == "broken"]
    assert others == [], f"without a planted anomaly, but broken: {others}"
    size = sum(file.stat().st_size for file in planted.files)
    return (
        f"| {planted.events:,} | {size / 1e6:,.0f} MB | {took_s:.2f} s | {cpu_s:.2f} s | {planted.events / took_s:,.0f} "
        f"| {peak_bytes / 1e6:,.0f} MB | {sum(map(len, said.values()))} of {sum(map(len, planted.broken.values()))} |"
    )


if __name__ == "__main__":
    main()

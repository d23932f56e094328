"""Seconds until each service of the local environment answers a full round trip, over n starts with all services in parallel.

Run: python benchmarks/service_start.py [--starts N] [--services mysql redis rabbitmq postgresql]
"""

import argparse
import statistics
import time
from collections import defaultdict

from chaos.environment import SERVICE_NAMES
from chaos.environments.local import LocalEnvironment


def main() -> None:
    """Enter and leave the environment n times, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--services", nargs="+", choices=SERVICE_NAMES, default=list(SERVICE_NAMES))
    options = parser.parse_args()
    seconds: dict[str, list[float]] = defaultdict(list)
    versions: dict[str, str] = {}
    for _ in range(options.starts):
        began = time.monotonic()
        with LocalEnvironment(options.services) as environment:
            seconds["all of them"].append(time.monotonic() - began)
            for service, took in environment.startup_s.items():
                seconds[service].append(took)
            versions.update(environment.versions())
            left = time.monotonic()
        seconds["leaving"].append(time.monotonic() - left)
    print(
        f"{options.starts} starts\n\n| service | version | minimum s | median s | maximum s |\n| --- | --- | ---: | ---: | ---: |"
    )
    for name in (*options.services, "all of them", "leaving"):
        took = seconds[name]
        print(
            f"| {name} | {versions.get(name, '')} | {min(took):.2f} | {statistics.median(took):.2f} | {max(took):.2f} |"
        )


if __name__ == "__main__":
    main()

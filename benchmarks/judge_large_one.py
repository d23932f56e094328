"""Judges one run directory and prints its verdicts and the peak memory of the largest process: the child of judge_large.py."""

import resource
import sys
from pathlib import Path

import msgspec

from scenarios.stored.judge_files import judge_run
from scenarios.stored.rundir import RunDirectory


def main() -> None:
    """Judge the run named on the command line."""
    verdicts = judge_run(RunDirectory(Path(sys.argv[1]))).to_json()
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    sys.stdout.buffer.write(msgspec.json.encode([verdicts, max(usage.ru_maxrss for usage in usages) * 1024]))


if __name__ == "__main__":
    main()

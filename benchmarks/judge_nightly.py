"""The nightly run of the checkers' tests: a hundred times as many drawn, planted and damaged histories. Prints the seed that repeats it.

`python benchmarks/judge_nightly.py [--factor 100] [--seed N]`; takes hours on two cores. 10^5 damaged histories at a factor of 100.
"""

import argparse
import os
import secrets
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the tests; return the exit code of pytest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--factor", type=float, default=100)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    arguments = parser.parse_args()
    print(
        f"repeat with: python benchmarks/judge_nightly.py --factor {arguments.factor:g} --seed {arguments.seed}",
        flush=True,
    )
    argv = [sys.executable, "-m", "pytest", "-q", "tests/unit", "-k", "judges", f"--hypothesis-seed={arguments.seed}"]
    environment = {**os.environ, "TASKLAB_EXAMPLES_FACTOR": str(arguments.factor)}
    return subprocess.run(argv, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

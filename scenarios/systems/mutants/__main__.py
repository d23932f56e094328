"""python -m scenarios.systems.mutants NAME ROLE — one process of a mutant, on real services; configured like the reference."""

import os
import sys

from reference_impl.processes import run_role
from reference_impl.settings import read_settings
from scenarios.systems.mutant import find_mutant


def main() -> int:
    """The exit code of the process."""
    name, role = sys.argv[1:]
    return run_role(role, read_settings(os.environ), patch=find_mutant(name).patch)


if __name__ == "__main__":
    sys.exit(main())

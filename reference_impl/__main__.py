"""python -m reference_impl api|relay|worker|rescuer|embedded|migrate — run one process of the reference task system."""

import os
import sys

from reference_impl.settings import SettingsInvalid, read_settings

USAGE = """usage: python -m reference_impl ROLE

roles: api      the HTTP API
       relay    publishes the outbox
       worker   runs tasks
       rescuer  repairs undelivered and overdue tasks, and tasks with an expired lease
       embedded all of these in one process, on SQLite and in memory
       migrate  brings the database schema up to date, then ends

Configuration: the environment variables REFERENCE_*, listed in reference_impl/settings.py.
"""


def main() -> int:
    """The exit code: 0 graceful shutdown, 2 wrong usage, anything else a crash."""
    from reference_impl.processes import ROLES, run_role

    if len(sys.argv) != 2 or sys.argv[1] not in ROLES:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        return run_role(sys.argv[1], read_settings(os.environ))
    except SettingsInvalid as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

"""What is worth knowing of a run beside its history: versions, commit, command line."""

import importlib.metadata
import platform
import subprocess
import sys
from datetime import UTC, datetime

import msgspec

from chaos.environment import Environment
from chaos.faults import name_of
from scenarios.rundir import RunFacts
from scenarios.scenario import Scenario
from scenarios.system import System, claims_under, policy_of

PACKAGES = ("tasklab", "sqlalchemy", "pymysql", "redis", "pika")


def describe_run(scenario: Scenario, system: System, environment: Environment, *, seed: int, repeat: str) -> RunFacts:
    """The content of run.json at the start of a run."""
    policy = msgspec.to_builtins(policy_of(system))
    return RunFacts(
        scenario=scenario.name,
        story=scenario.story,
        system=system.name,
        environment=environment.name,
        seed=seed,
        repeat=repeat,
        argv=sys.argv,
        claims=sorted(claims_under(system, (name_of(strike.fault) for strike in scenario.strikes))),
        at_stake=list(scenario.at_stake),
        policy={name: value for name, value in policy.items() if value is not None},
        versions={"python": platform.python_version(), **_package_versions(), **environment.versions()},
        commit=_commit(),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        startup_s=dict(environment.startup_s),
    )


def _package_versions() -> dict[str, str]:
    # From the metadata, not from __version__: PyMySQL's says which mysqlclient it imitates.
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def _commit() -> str:
    """Of the checkout that the lab was called in, if it is one."""
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip()

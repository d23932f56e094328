"""The facts of a run beside its history: versions, commit, command line."""

import importlib.metadata
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from chaos.environment import Environment
from scenarios.contract.system import System, Versioned, capabilities_of, claims_under, pace_of, policy_of
from scenarios.experiment.scenario import Scenario
from scenarios.judging.policy import Schedule
from scenarios.judging.premises import EnoughWork, stated_premises
from scenarios.record.run_facts import RunFacts


class EnvironmentFacts(Protocol):
    """The part of an environment that describes it and its versions."""

    name: str

    @property
    def startup_s(self) -> Mapping[str, float]:
        """Seconds until each service answered."""

    def versions(self) -> Mapping[str, str]:
        """Of each service."""


PACKAGES = ("tasklab", "sqlalchemy", "pymysql", "redis", "pika")


def describe_run(scenario: Scenario, system: System, environment: Environment, *, seed: int, repeat: str) -> RunFacts:
    """The content of run.json at the start of a run."""
    policy = msgspec.to_builtins(policy_of(system))
    facts = describe_world(environment, scenario=scenario.name, system=system.name, seed=seed)
    facts.versions.update(system.versions if isinstance(system, Versioned) else {})
    facts.story = scenario.story
    facts.repeat = repeat
    facts.claims = sorted(claims_under(system, (strike.fault.name for strike in scenario.strikes)))
    facts.at_stake = list(scenario.at_stake)
    facts.capabilities = sorted(capabilities_of(system))
    facts.policy = {name: value for name, value in policy.items() if value is not None}
    facts.premises = stated_premises([EnoughWork(), *scenario.premises])
    facts.pace = {name: value for name, value in asdict(pace_of(system)).items() if value is not None}
    return facts


def stated_schedules(set_up: Mapping[str, Schedule], system: System) -> dict[str, Any]:
    """The schedules that clients have set up in a run, as part of its policy; those that the system states itself beside them."""
    policy = policy_of(system)
    if not set_up:
        return {}
    schedules = {name: replace(schedule, catch_up=policy.catch_up) for name, schedule in set_up.items()}
    return {"schedules": msgspec.to_builtins({**(policy.schedules or {}), **schedules})}


def describe_world(environment: EnvironmentFacts, *, scenario: str, system: str, seed: int) -> RunFacts:
    """The facts that do not depend on the scenario: names, versions, commit, command line, time."""
    return RunFacts(
        scenario=scenario,
        system=system,
        environment=environment.name,
        seed=seed,
        repeat="",
        argv=sys.argv,
        versions={"python": platform.python_version(), **_package_versions(), **environment.versions()},
        commit=_commit(),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        startup_s=dict(environment.startup_s),
    )


def _package_versions() -> dict[str, str]:
    # From the metadata, not from __version__: PyMySQL's is that of the mysqlclient that it imitates.
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def _commit() -> str:
    """The commit of the current directory, "" if it is no git checkout."""
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip()

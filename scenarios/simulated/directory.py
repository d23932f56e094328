"""Writes a simulated world as a run directory, to be judged, reported and compared like any other run."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from chaos.environments.simulated import SimulatedEnvironment
from scenarios.errors import PluginFailed
from scenarios.experiment.facts import describe_world
from scenarios.judging.premise import Premise
from scenarios.judging.premises import stated_premises
from scenarios.lookup import find_scenario, scenario_names, scenarios_testing
from scenarios.record.history import Event
from scenarios.record.run_facts import Turn
from scenarios.simulated.run import Simulated
from scenarios.stored.rundir import RunDirectory

_OWN_STORIES = {
    "swarm": "A few tasks in a small world, and several kinds of faults drawn by the seed. No combination may break a promise.",
    "crash_points": "A process is killed at one of its calls, before or after the call takes effect. No promise may break.",
}

_FILE_PART = re.compile(r"[A-Za-z0-9_.-]{1,100}")

_SOURCES = {
    "lab": ("crash", "restart", "fault", "secret", "final"),
    "outside": ("effect", "write"),
    "client": ("submit", "cancel", "status"),
}
"""The source of events by the first part of their names; the source of all others is their actor."""


def write_run(
    world: Simulated, out: Path, *, system: str, repeat: str, steps: Sequence[Turn], premises: Sequence[Premise] = ()
) -> RunDirectory:
    """Write the world to `out`. `steps`: its story, if any. `premises`: of its scenario; a drawn world has none: its faults may miss.

    Raises:
        RunExists: `out` already holds a run.
    """
    directory = RunDirectory(out)
    directory.create()
    by_source: dict[str, list[Event]] = defaultdict(list)
    for event in world.events:
        by_source[_file_part(source_of(event), system)].append(event)
    for source, events in by_source.items():
        lines = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
        (out / f"history.{source}.jsonl").write_bytes(lines)
    at_stake, story = _stakes_and_story(world.plan.scenario)
    facts = describe_world(SimulatedEnvironment(), scenario=world.plan.scenario, system=system, seed=world.plan.seed)
    facts.repeat = repeat
    facts.story = story
    facts.at_stake = at_stake
    facts.claims = sorted(world.claims)
    facts.tested_by = {claim: list(scenarios_testing(claim)) for claim in facts.claims}
    facts.policy = {name: value for name, value in msgspec.to_builtins(world.policy).items() if value is not None}
    facts.premises = stated_premises(premises)
    facts.phases_ns = dict(world.phases_ns)
    facts.strikes = list(world.strikes)
    facts.problems = list(world.problems)
    facts.faults_may_miss = not world.plan.must_bite
    facts.died = Counter(gone.partition(": ")[0] for gone in world.gone)
    facts.steps = list(steps)
    facts.took_s = round(world.virtual_s, 3)
    directory.seal(facts)
    return directory


def source_of(event: Event) -> str:
    """The source of the event, as in a real run: a process records only its own acts."""
    kind = event.event.partition(".")[0]
    return next((source for source, kinds in _SOURCES.items() if kind in kinds), event.actor)


def _file_part(source: str, system: str) -> str:
    """The source as part of a file name; raises PluginFailed if a process name is not valid there."""
    if not _FILE_PART.fullmatch(source):
        why = "a name has 1 to 100 letters, digits, '_', '.' and '-'"
        raise PluginFailed(system, "processes()", f"process {source[:80]!r}: {why}")
    return source


def _stakes_and_story(name: str) -> tuple[list[str], str]:
    if name not in scenario_names():  # the name may come from a token, which must not cause imports
        return [], _OWN_STORIES.get(name, "")
    scenario = find_scenario(name)
    return list(scenario.at_stake), scenario.story

"""A simulated world as a run directory: judged again, reported and compared like any other run."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from chaos.environments.simulated import SimulatedEnvironment
from scenarios.errors import PluginFailed
from scenarios.experiment.facts import describe_world
from scenarios.judging.premises import Premise, stated_premises
from scenarios.lookup import find_scenario, scenario_names, scenarios_testing
from scenarios.record.history import Event
from scenarios.record.run_facts import Turn
from scenarios.simulated.run import Simulated
from scenarios.stored.rundir import RunDirectory

_OWN_STORIES = {
    "swarm": "A few tasks in a small world, and a swarm of faults drawn by the seed. Whatever comes together, no promise may break.",
    "crash_points": "A process is killed at one of its calls, before or after it took effect. No promise may break at any of them.",
}

_FILE_PART = re.compile(r"[A-Za-z0-9_.-]{1,100}")

_SOURCES = {
    "lab": ("crash", "restart", "fault", "secret", "final"),
    "outside": ("effect", "write"),
    "client": ("submit", "cancel", "status"),
}
"""Events by the beginning of their names; all others are recorded by their actor."""


def write_run(
    world: Simulated, out: Path, *, system: str, repeat: str, steps: Sequence[Turn], premises: Sequence[Premise] = ()
) -> RunDirectory:
    """Write the world to `out`, with its story, a sentence a step, where there is one. `premises`: those of its scenario; a drawn
    world has none, because its faults may miss.

    Raises:
        RunExists: `out` holds a run already.
    """
    directory = RunDirectory(out)
    directory.create()
    by_source: dict[str, list[Event]] = defaultdict(list)
    for event in world.events:
        by_source[_file_part(source_of(event), system)].append(event)
    for source, events in by_source.items():
        lines = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
        (out / f"history.{source}.jsonl").write_bytes(lines)
    at_stake, words = _what_it_is_about(world.plan.scenario)
    facts = describe_world(SimulatedEnvironment(), scenario=world.plan.scenario, system=system, seed=world.plan.seed)
    facts.repeat = repeat
    facts.story = words
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
    """Which source has recorded the event: the one that recorded it in a real run; a process records only what it did itself."""
    kind = event.event.partition(".")[0]
    return next((source for source, kinds in _SOURCES.items() if kind in kinds), event.actor)


def _file_part(source: str, system: str) -> str:
    """The source as a part of a file name; raises PluginFailed where a process has a name that is none."""
    if not _FILE_PART.fullmatch(source):
        why = "a name has 1 to 100 letters, digits, '_', '.' and '-'"
        raise PluginFailed(system, "processes()", f"process {source[:80]!r}: {why}")
    return source


def _what_it_is_about(name: str) -> tuple[list[str], str]:
    if name not in scenario_names():  # the name may come from a token: no code is imported because of it
        return [], _OWN_STORIES.get(name, "")
    scenario = find_scenario(name)
    return list(scenario.at_stake), scenario.story

"""The experiments behind `tasklab run`, `demo` and `load`: a scenario and a system, in an environment or in the simulator."""

from pathlib import Path
from typing import TYPE_CHECKING

from tasklab.running.environments import SIMULATED
from tasklab.running.judged_run import JudgedRun, RunName, Say, judged, judged_if_applicable

if TYPE_CHECKING:
    from chaos.environment import Environment
    from loadtests.arrivals import LoadPlan
    from scenarios.contract.system import System
    from scenarios.experiment.run import Experiment
    from scenarios.experiment.scenario import Scenario
    from scenarios.real.stage import RealStage
    from scenarios.record.run_facts import LoadFigures
    from scenarios.stored.rundir import RunDirectory
    from tasklab.running.locust_driver import Page


def run_in_environment(
    scenario: "Scenario",
    scenario_name: str,
    plugin: "System",
    options: str,
    world: "Environment",
    *,
    seed: int,
    place: Path,
    say: Say,
) -> JudgedRun:
    """One run in a started environment. `scenario_name`, `options`: how the caller named the scenario and the system."""
    from scenarios.real.run import run

    repeat = f"tasklab run {scenario_name} {options} --environment {world.name} --seed {seed}"

    def carry_out(directory: Path) -> "RunDirectory":
        return run(scenario, plugin, world, seed=seed, out=directory, repeat=repeat, say=_indented(say))

    name = RunName(scenario.name, plugin.name, world.name, seed, repeat)
    return judged_if_applicable(name, place, carry_out, say)


def run_simulated(
    scenario: "Scenario",
    scenario_name: str,
    plugin: "System",
    options: str,
    *,
    seed: int,
    place: Path,
    say: Say,
) -> JudgedRun:
    """One run in the simulated world; a system without a simulation is not applicable."""
    from scenarios.simulated.directory import write_run
    from scenarios.simulated.run import simulate
    from scenarios.simulated.system import simulation_of
    from scenarios.simulated.worlds.catalogue import world_of

    repeat = f"tasklab run {scenario_name} {options} --environment {SIMULATED} --seed {seed}"

    def carry_out(directory: Path) -> "RunDirectory":
        simulation = simulation_of(plugin)
        world = simulate(world_of(scenario, seed, simulation.terms), simulation)
        say(f"  {world.virtual_s:.1f} virtual seconds in {world.steps} steps")
        return write_run(world, directory, system=plugin.name, repeat=repeat, steps=[], premises=scenario.premises)

    name = RunName(scenario.name, plugin.name, SIMULATED, seed, repeat)
    return judged_if_applicable(name, place, carry_out, say)


def run_load(
    plan: "LoadPlan",
    plugin: "System",
    world: "Environment",
    *,
    struck: "Scenario | None",
    page: "Page | None",
    place: Path,
    repeat: str,
    say: Say,
) -> "tuple[JudgedRun, LoadFigures]":
    """One load in a started environment; its run directory is in `place`.

    Raises:
        NotApplicable: the system has no HTTP API, or the faults have no target here.
    """
    from loadtests.figures import figures_of
    from scenarios.experiment.scaling import as_load
    from scenarios.real.run import run
    from tasklab.running.locust_driver import LocustDriver

    _check_addressed(plugin)
    scenario = as_load(struck, tasks=plan.tasks, rate_per_s=plan.rate_per_s)
    figures: list[LoadFigures] = []

    def drive(stage: "RealStage", experiment: "Experiment", _: object) -> LocustDriver:
        return LocustDriver(stage, experiment, plan, page)

    def carry_out(directory: Path) -> "RunDirectory":
        finished = run(
            scenario, plugin, world, seed=plan.seed, out=directory, repeat=repeat, say=_indented(say), drive=drive
        )
        figures.append(figures_of(finished.path, plan))
        _keep(finished, figures[0])
        return finished

    name = RunName(scenario.name, plugin.name, world.name, plan.seed, repeat)
    return judged(name, place, carry_out, say), figures[0]


def _check_addressed(plugin: "System") -> None:
    from scenarios.contract.system import Addressed
    from scenarios.errors import NotApplicable

    if not isinstance(plugin, Addressed):
        raise NotApplicable(f"{plugin.name} names no HTTP API to submit to (api_url; see docs/load.md)")


def _indented(say: Say) -> Say:
    return lambda text: say(f"  {text}")


def _keep(directory: "RunDirectory", figures: "LoadFigures") -> None:
    """Write the figures into run.json, and extend the recovery budget by the time that the load continued after healing.

    A system that still gets new tasks cannot finish its recovery: its budget counts from the end of the load.
    """
    from loadtests.exchange_files import read_marks

    facts = directory.read_facts()
    facts.load = figures
    marks = read_marks(directory.path)
    healed_ns = max((strike.healed_ns for strike in facts.strikes if strike.healed_ns is not None), default=None)
    budget_s = facts.policy.get("budget_s")
    if marks and marks.over_ns and healed_ns is not None and isinstance(budget_s, float):
        facts.policy["budget_s"] = budget_s + round(max(0.0, (marks.over_ns - healed_ns) / 1e9), 3)
    directory.write_facts(facts)

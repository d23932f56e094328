"""`tasklab run`: scenarios against a system; each run is judged and has a report."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.chosen_system import ChosenSystem
from tasklab.commands.plugin_options import with_system
from tasklab.exit_codes import explained
from tasklab.module_path import append_current_directory
from tasklab.presentation.runs import print_judged, print_runs_json, print_several, rates_of, say_app, say_started
from tasklab.presentation.terminal import Progress
from tasklab.running.environments import EnvironmentName, make_environment
from tasklab.running.experiments import run_in_environment, run_simulated
from tasklab.running.judged_run import SEED_MAX, JudgedRun, exit_code_of_runs, report_of_runs
from tasklab.running.places import place_for_runs

if TYPE_CHECKING:
    from scenarios.contract.system import System
    from scenarios.experiment.scenario import Scenario

SEEDS_MAX = 1000


@with_system
def run(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCENARIO…",
            help="Names from `tasklab list scenarios`, or package.module:ATTRIBUTE for one of your own. "
            "Default: those of the configuration file.",
            show_default=False,
        ),
    ] = None,
    *,
    chosen: ChosenSystem,
    environment: Annotated[
        EnvironmentName | None,
        typer.Option(
            help="local: real services that the lab starts; embedded: no server, the system in one process; "
            "containers: each service in a Docker container; "
            "external: your own services, at TASKLAB_MYSQL_URL, TASKLAB_REDIS_URL, TASKLAB_RABBITMQ_URL and TASKLAB_POSTGRESQL_URL; "
            "simulated: the system's own code in one process, without a real clock, thread or service. "
            "Default: local, or as the configuration file states."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=SEED_MAX, help="Decides everything random. Default: drawn, and printed."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="A..B", help="Run every scenario once by each of these seeds, in place of --seed."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Place of the run directories, SCENARIO-SYSTEM-SEED. Default: runs/DATE-TIME."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Verdicts as JSON on standard output.")] = False,
) -> None:
    """Run scenarios against a system: inject faults into its world, and judge the fate of every task.

    Of several scenarios, those without a target in this system are not applicable and do not count; if none is applicable, the
    exit code is 3. With --seeds a summary shows how often each scenario was held, broken and unknown.

    Example: tasklab run broker_killed worker_killed_after_effect --system reference --seed 7

    Example: tasklab run worker_killed_after_effect --dramatiq shop.tasks:charge

    Example: tasklab run
    """
    with explained():
        names, where = chosen.scenarios(scenarios), chosen.environment(environment)
        wanted, plugin = _opened(names, chosen, where)
        numbers = _numbers(seed, seeds)
        say = Progress()
        if chosen.configuration is not None:
            say(f"configuration: {chosen.configuration.file}")
        say(f"seed {numbers[0]}" if len(numbers) == 1 else f"seeds {seeds}")
        place = place_for_runs(out)
        named = [(scenario, name, number) for scenario, name in zip(wanted, names, strict=True) for number in numbers]
        runs: list[JudgedRun] = []
        for one in _carried_out(named, plugin, chosen.options(), where, place, say):
            runs.append(one)
            if not as_json:
                print_judged(one)
        report = report_of_runs(runs, place) if len(runs) > 1 else None
    if as_json:
        print_runs_json(runs, **({"rates": rates_of(runs)} if len(numbers) > 1 else {}))
    else:
        print_several(runs, report)
    raise typer.Exit(exit_code_of_runs(runs))


def _numbers(seed: int | None, seeds: str | None) -> list[int]:
    """The seeds to run by.

    Raises:
        NotARange, WrongUsage: `seeds` is not a range, or both are given.
    """
    from scenarios.errors import WrongUsage

    if seeds is None:
        return [SystemRandom().randrange(SEED_MAX) if seed is None else seed]
    if seed is not None:
        raise WrongUsage("--seed and --seeds cannot be combined")
    from scenarios.simulated.search.campaign import seeds_of  # slow

    numbers = list(islice(seeds_of(seeds, "1/1", until_s=None), SEEDS_MAX + 1))
    if len(numbers) > SEEDS_MAX:
        raise WrongUsage(f"--seeds {seeds}: at most {SEEDS_MAX} seeds")
    return numbers


def _carried_out(
    named: "list[tuple[Scenario, str, int]]",
    plugin: "System",
    options: str,
    environment: EnvironmentName,
    place: Path,
    say: Progress,
) -> Iterator[JudgedRun]:
    """Every run as it ends; the environment exists until the last one has ended."""
    if environment is EnvironmentName.SIMULATED:
        for scenario, name, seed in named:
            yield run_simulated(scenario, name, plugin, options, seed=seed, place=place, say=say)
        return
    with make_environment(environment, plugin) as world:
        say_started(world, say)
        say_app(plugin, say)
        for scenario, name, seed in named:
            yield run_in_environment(scenario, name, plugin, options, world, seed=seed, place=place, say=say)


def _opened(
    scenarios: list[str], chosen: ChosenSystem, environment: EnvironmentName
) -> "tuple[list[Scenario], System]":
    """The scenarios, and the system: a user's runs in a client process, or for the simulator in this process."""
    from scenarios.errors import WrongUsage
    from scenarios.lookup import find_system
    from scenarios.plugin.opening import open_scenario

    wanted = [open_scenario(name, directory=chosen.directory) for name in scenarios]
    if environment is not EnvironmentName.SIMULATED:
        return wanted, chosen.open()
    if not isinstance(chosen.named, str):
        raise WrongUsage(
            f"an app runs on real services, as a system does that a file describes: --environment {environment.value} cannot simulate them"
        )
    append_current_directory()
    return wanted, find_system(chosen.named)

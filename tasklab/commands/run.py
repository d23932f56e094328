"""`tasklab run`: scenarios against a system, judged, with a report each."""

from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.output import (
    EXIT_UNKNOWN,
    STYLE_OF_EXIT,
    STYLE_OF_RULING,
    Progress,
    console,
    explained,
    print_json,
    worst,
)
from tasklab.commands.places import place_for_runs
from tasklab.commands.verdict_words import account_in_words, sentence_of
from tasklab.commands.worlds import EnvironmentName, WorldName, make_environment

if TYPE_CHECKING:
    from rich.text import Text

    from chaos.environment import Environment
    from scenarios.contract.system import System
    from scenarios.experiment.scenario import Scenario
    from scenarios.judging.judge import Judgement
    from scenarios.judging.verdict import Verdict

SEED_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run that is over: where it is, and what the judges said; without a judgement it was not applicable, and `why` tells."""

    scenario: str
    system: str
    environment: str
    seed: int
    directory: Path | None
    report: Path | None
    judgement: "Judgement | None"
    why: str = ""

    @property
    def exit_code(self) -> int:
        """Of this run alone."""
        return EXIT_UNKNOWN if self.judgement is None else self.judgement.exit_code

    def to_json(self) -> dict[str, object]:
        """For --json."""
        said = {} if self.judgement is None else self.judgement.to_json()
        return {
            "scenario": self.scenario,
            "system": self.system,
            "environment": self.environment,
            "seed": self.seed,
            "directory": self.directory and str(self.directory),
            "report": self.report and str(self.report),
            "why": self.why,
            **said,
            "exit_code": self.exit_code,
        }


def run(
    scenarios: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO…",
            help="Names from `tasklab list scenarios`, or package.module:ATTRIBUTE for one of your own.",
        ),
    ],
    system: Annotated[
        str,
        typer.Option(
            help="A name from `tasklab list systems`, package.module:attribute of your own plug-in, or a program "
            "(a path with a / in it) that speaks the protocol of docs/protocol.md."
        ),
    ] = "reference",
    python: Annotated[
        Path | None,
        typer.Option(metavar="PROGRAM", help="The Python that loads your plug-in. Default: the lab's."),
    ] = None,
    plugin_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            max=3600,
            help="How long each answer of your plug-in may take. Default: 30, for accounts 60 (docs/protocol.md).",
        ),
    ] = None,
    environment: Annotated[
        WorldName,
        typer.Option(
            help="local: real services that the lab starts for itself; embedded: no server, the system in one process; "
            "containers: each service in a Docker container; "
            "external: services of yours, at TASKLAB_MYSQL_URL, TASKLAB_REDIS_URL and TASKLAB_RABBITMQ_URL; "
            "simulated: the system's own code in one process without any real clock, thread or service."
        ),
    ] = WorldName.LOCAL,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, max=SEED_MAX, help="Decides everything that is left to chance. Default: drawn, and printed."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Holds the run directories, SCENARIO-SYSTEM-SEED each. Default: runs/DATE-TIME."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Verdicts as JSON on standard output.")] = False,
) -> None:
    """Run scenarios against a system: break its world on purpose, and judge what became of every task.

    Example: tasklab run broker_killed worker_killed_after_effect --system reference --seed 7
    """
    with explained():
        from scenarios.lookup import find_system
        from scenarios.plugin.opening import open_scenario, open_system

        simulated = environment is WorldName.SIMULATED
        chosen = [open_scenario(name) for name in scenarios]
        plugin = find_system(system) if simulated else open_system(system, python=python, timeout_s=plugin_timeout)
        system = system if python is None else f"{system} --python {python}"  # in the line that repeats the run
        drawn = SystemRandom().randrange(SEED_MAX) if seed is None else seed
        say = Progress()
        say(f"seed {drawn}")
        place = place_for_runs(out)
        named = list(zip(chosen, scenarios, strict=True))
        if simulated:
            judged = [
                run_simulated(scenario, name, plugin, system, seed=drawn, place=place, say=say)
                for scenario, name in named
            ]
        else:
            with make_environment(EnvironmentName(environment), plugin) as world:
                say_started(world, say)
                judged = [
                    run_one(scenario, name, plugin, system, world, seed=drawn, place=place, say=say)
                    for scenario, name in named
                ]
    if as_json:
        print_runs_json(judged)
    else:
        for one in judged:
            print_judged(one)
    raise typer.Exit(worst(one.exit_code for one in judged))


def say_started(world: "Environment", say: Progress) -> None:
    """How long each service took."""
    if world.startup_s:
        parts = ", ".join(f"{service} {seconds:.1f} s" for service, seconds in sorted(world.startup_s.items()))
        say(f"services are up: {parts}")


def run_one(
    scenario: "Scenario",
    scenario_name: str,
    plugin: "System",
    system_name: str,
    world: "Environment",
    *,
    seed: int,
    place: Path,
    say: Progress,
) -> JudgedRun:
    """One run, judged and reported; a scenario that has nothing to strike here is no run."""
    from reports.build import write_report
    from scenarios.errors import NotApplicable
    from scenarios.experiment.run import run as run_scenario
    from scenarios.stored.judge import judge_run
    from scenarios.stored.rundir import REPORT_FILE

    directory = place / f"{scenario.name}-{plugin.name}-{seed}"
    repeat = f"tasklab run {scenario_name} --system {system_name} --environment {world.name} --seed {seed}"
    say(f"{scenario.name} × {plugin.name}: {repeat}")
    try:
        finished = run_scenario(
            scenario, plugin, world, seed=seed, out=directory, repeat=repeat, say=lambda text: say(f"  {text}")
        )
    except NotApplicable as error:
        say(f"  not applicable: {error}")
        return JudgedRun(scenario.name, plugin.name, world.name, seed, None, None, None, str(error))
    judgement = judge_run(finished)
    report = write_report([directory], directory / REPORT_FILE)
    return JudgedRun(scenario.name, plugin.name, world.name, seed, directory, report, judgement)


def run_simulated(
    scenario: "Scenario",
    scenario_name: str,
    plugin: "System",
    system_name: str,
    *,
    seed: int,
    place: Path,
    say: Progress,
) -> JudgedRun:
    """One run in the simulated world, judged and reported; a system that brings no simulation is no run."""
    from reports.build import write_report
    from scenarios.errors import NotApplicable
    from scenarios.simulated.directory import write_run
    from scenarios.simulated.run import simulate
    from scenarios.simulated.system import simulation_of
    from scenarios.simulated.worlds.catalogue import world_of
    from scenarios.stored.judge import judge_run
    from scenarios.stored.rundir import REPORT_FILE

    environment = WorldName.SIMULATED.value
    repeat = f"tasklab run {scenario_name} --system {system_name} --environment {environment} --seed {seed}"
    say(f"{scenario.name} × {plugin.name}: {repeat}")
    try:
        simulation = simulation_of(plugin)
    except NotApplicable as error:
        say(f"  not applicable: {error}")
        return JudgedRun(scenario.name, plugin.name, environment, seed, None, None, None, str(error))
    world = simulate(world_of(scenario, seed, simulation.terms), simulation)
    say(f"  {world.virtual_s:.1f} virtual seconds in {world.steps} steps")
    directory = place / f"{scenario.name}-{plugin.name}-{seed}"
    written = write_run(world, directory, system=plugin.name, repeat=repeat, steps=[])
    judgement = judge_run(written)
    report = write_report([directory], directory / REPORT_FILE)
    return JudgedRun(scenario.name, plugin.name, environment, seed, directory, report, judgement)


def print_runs_json(judged: list[JudgedRun], **more: object) -> None:
    """All runs as one document, with whatever else belongs to it."""
    exit_code = worst(one.exit_code for one in judged)
    print_json({"runs": [one.to_json() for one in judged], **more, "exit_code": exit_code})


def print_judged(one: JudgedRun) -> None:
    """A run's verdicts as a table, with what a person does next."""
    from rich.table import Table

    terminal = console()
    terminal.print()
    if one.judgement is None:
        terminal.print(f"{one.scenario} × {one.system}: unknown, not applicable: {one.why}", style="yellow")
        return
    table = Table(title=f"{one.scenario} × {one.system}, seed {one.seed}", title_justify="left", expand=False)
    table.add_column("promise")
    table.add_column("verdict")
    table.add_column("reason", overflow="fold")
    for verdict in one.judgement.verdicts:
        table.add_row(verdict.guarantee.value, *_ruling_in_words(verdict))
    terminal.print(table)
    for problem in one.judgement.problems:
        terminal.print(f"problem: {problem}", style="yellow")
    account = one.judgement.account
    warm_ups = 0 if one.environment == WorldName.SIMULATED else min(1, account.submitted)
    terminal.print(f"account: {account_in_words(account, warm_ups=warm_ups)}")
    terminal.print(f"report:  {one.report}")
    terminal.print(f"verdict: {sentence_of(one.judgement)}", style=STYLE_OF_EXIT[one.exit_code])


def _ruling_in_words(verdict: "Verdict") -> "tuple[Text, str]":
    from rich.text import Text

    if verdict.ruling == "held" and not verdict.exercised:
        return Text("held (not exercised)", style="dim"), ""
    return Text(verdict.ruling, style=STYLE_OF_RULING[verdict.ruling]), verdict.reason

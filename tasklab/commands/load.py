"""`tasklab load`: a steady load from Locust, on a system whose world may be struck meanwhile, judged as any other run."""

import importlib.util
from contextlib import closing
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.output import EXIT_UNKNOWN, EXIT_USAGE, Progress, console, explained, fail, print_json
from tasklab.commands.places import place_for_runs
from tasklab.commands.run import SEED_MAX, JudgedRun, print_judged, say_started
from tasklab.commands.worlds import EnvironmentName, make_environment

if TYPE_CHECKING:
    from chaos.environment import Environment
    from loadtests.arrivals import LoadPlan
    from scenarios.contract.system import System
    from scenarios.experiment.scenario import Scenario
    from scenarios.record.run_facts import LoadFigures, Percentiles
    from scenarios.stored.rundir import RunDirectory
    from tasklab.commands.load_driver import Page

RATE_MAX = 5000.0
DURATION_MAX_S = 3600.0
TASKS_MAX = 200_000


def load(
    rate: Annotated[float, typer.Option(min=0.1, max=RATE_MAX, help="Submissions a second, evenly spaced.")] = 50.0,
    duration: Annotated[float, typer.Option(min=0.1, max=DURATION_MAX_S, help="For how many seconds.")] = 20.0,
    fault: Annotated[
        str | None,
        typer.Option(
            metavar="SCENARIO",
            help="Strike as this scenario does, at the same share of the work; see `tasklab list scenarios`.",
        ),
    ] = None,
    system: Annotated[
        str, typer.Option(help="A name from `tasklab list systems`, or package.module:attribute of your own plug-in.")
    ] = "reference",
    environment: Annotated[
        EnvironmentName,
        typer.Option(
            help="local: real services that the lab starts for itself; embedded: no server at all; containers and "
            "external: see `tasklab run --help`."
        ),
    ] = EnvironmentName.LOCAL,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, max=SEED_MAX, help="Decides everything that is left to chance. Default: drawn, and printed."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Holds the run directory. Default: runs/DATE-TIME.")
    ] = None,
    web: Annotated[
        bool,
        typer.Option("--web", help="With Locust's page, which waits for you to press start; its address is printed."),
    ] = False,
    web_port: Annotated[
        int | None, typer.Option(min=1024, max=65535, help="Port of the page on this machine. Default: a free one.")
    ] = None,
    autostart: Annotated[bool, typer.Option("--autostart", help="With --web: begin at once.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Verdicts and figures as JSON on standard output.")] = False,
) -> None:
    """Load a system at a steady rate, whatever it answers, and judge what became of every task.

    Example: tasklab load --rate 100 --duration 40 --fault broker_killed
    """
    if (autostart or web_port is not None) and not web:
        fail("--autostart and --web-port go with --web", EXIT_USAGE)
    if not 1 <= rate * duration <= TASKS_MAX:
        fail(f"--rate times --duration is the number of tasks: 1 to {TASKS_MAX}, not {rate * duration:g}", EXIT_USAGE)
    if importlib.util.find_spec("locust") is None:
        fail("unknown: Locust is not installed; `pip install 'tasklab[load]'` brings it", EXIT_UNKNOWN)
    with explained():
        from chaos.ports import PortLease
        from loadtests.arrivals import LoadPlan
        from scenarios.plugin.opening import open_scenario, open_system
        from tasklab.commands.load_driver import Page

        _check_port(web_port)
        struck = None if fault is None else open_scenario(fault)
        plugin = open_system(system)
        drawn = SystemRandom().randrange(SEED_MAX) if seed is None else seed
        plan = LoadPlan(rate, duration, drawn)
        place = place_for_runs(out)
        say = Progress()
        say(f"seed {drawn}")
        with closing(PortLease()) as ports, make_environment(environment, plugin) as world:
            page = Page(web_port or ports.claim(), autostart) if web else None
            say_started(world, say)
            repeat = f"tasklab load {_stated(plan, fault)} --system {system} --environment {world.name} --seed {drawn}"
            judged, figures = run_load(
                plan, plugin, world, struck=struck, page=page, place=place, repeat=repeat, say=say
            )
    if as_json:
        _print_json(judged, figures)
    else:
        print_judged(judged)
        print_figures(figures)
    raise typer.Exit(judged.exit_code)


def run_load(
    plan: "LoadPlan",
    plugin: "System",
    world: "Environment",
    *,
    struck: "Scenario | None",
    page: "Page | None",
    place: Path,
    repeat: str,
    say: Progress,
) -> "tuple[JudgedRun, LoadFigures]":
    """One load in a started environment, judged and reported; its run directory is in `place`.

    Raises:
        NotApplicable: the system has no HTTP API, or the faults have nothing to strike here.
    """
    from loadtests.figures import figures_of
    from reports.build import write_report
    from scenarios.contract.system import Addressed
    from scenarios.errors import NotApplicable
    from scenarios.experiment.run import run
    from scenarios.experiment.scaling import as_load
    from scenarios.stored.judge import judge_run
    from scenarios.stored.rundir import REPORT_FILE
    from tasklab.commands.load_driver import LocustDriver

    if not isinstance(plugin, Addressed):
        raise NotApplicable(f"{plugin.name} names no HTTP API to submit to (api_url; see docs/load.md)")
    scenario = as_load(struck, tasks=plan.tasks, rate_per_s=plan.rate_per_s)
    out = place / f"{scenario.name}-{plugin.name}-{plan.seed}"
    say(f"{scenario.name} × {plugin.name}: {repeat}")
    directory = run(
        scenario,
        plugin,
        world,
        seed=plan.seed,
        out=out,
        repeat=repeat,
        say=lambda text: say(f"  {text}"),
        drive=lambda going_on: LocustDriver(going_on, plan, page),
    )
    figures = figures_of(directory.path, plan)
    _keep(directory, figures)
    judgement = judge_run(directory)
    report = write_report([directory.path], directory.path / REPORT_FILE)
    return JudgedRun(scenario.name, plugin.name, world.name, plan.seed, directory.path, report, judgement), figures


def _check_port(port: int | None) -> None:
    from chaos.errors import ServiceUnavailable
    from chaos.ports import is_free

    if port is not None and not is_free(port):
        raise ServiceUnavailable("Locust's page", f"port {port} is taken; leave --web-port out to get a free one")


def _stated(plan: "LoadPlan", fault: str | None) -> str:
    struck = "" if fault is None else f" --fault {fault}"
    return f"--rate {plan.rate_per_s:g} --duration {plan.duration_s:g}{struck}"


def _keep(directory: "RunDirectory", figures: "LoadFigures") -> None:
    """What was measured, in run.json; and the budget for recovering, extended by the time that the load went on after healing.

    A system that still gets new tasks has not been left alone to recover: its time counts from when the load was over.
    """
    from loadtests.handing_over import read_marks

    facts = directory.read_facts()
    facts.load = figures
    marks = read_marks(directory.path)
    healed_ns = max((strike.healed_ns for strike in facts.strikes if strike.healed_ns is not None), default=None)
    budget_s = facts.policy.get("budget_s")
    if marks and marks.over_ns and healed_ns is not None and isinstance(budget_s, float):
        facts.policy["budget_s"] = budget_s + round(max(0.0, (marks.over_ns - healed_ns) / 1e9), 3)
    directory.write_facts(facts)


def _print_json(judged: JudgedRun, figures: "LoadFigures") -> None:
    import msgspec

    document = {"runs": [{**judged.to_json(), "load": msgspec.to_builtins(figures)}], "exit_code": judged.exit_code}
    print_json(document)


def print_figures(figures: "LoadFigures") -> None:
    """How the load was answered, as a table: times in milliseconds, from the instant at which a submission was due."""
    from rich.table import Table

    from loadtests.figures import kept_up

    terminal = console()
    table = Table(title="ms since a submission was due", title_justify="left", expand=False)
    for heading in ("until", "half", "95 %", "99 %", "longest"):
        table.add_column(heading, justify="left" if heading == "until" else "right")
    table.add_row("its answer", *_in_ms(figures.answers))
    table.add_row("its effect", *_in_ms(figures.effects))
    terminal.print(table)
    sent = f"{figures.sent} of {figures.planned} sent, {figures.offered_per_s:g}/s of {figures.planned_per_s:g}/s"
    answered = f"{figures.acknowledged} acknowledged, {figures.refused} refused, {figures.unknown} unknown"
    terminal.print(f"load:    {sent}; {answered}; {figures.backlog} open at its end")
    if not kept_up(figures):
        terminal.print(f"         {_overload(figures)}", style="yellow")


def _overload(figures: "LoadFigures") -> str:
    after = (
        f"{figures.without_effect} of them never had an effect"
        if figures.without_effect
        else f"caught up {figures.caught_up_s:.1f} s later"
    )
    return f"it did not keep up: {figures.backlog} of {figures.sent} open when the load ended; {after}"


def _in_ms(times: "Percentiles | None") -> list[str]:
    if times is None:
        return ["–"] * 4
    return [f"{seconds * 1000:.0f}" for seconds in (times.p50_s, times.p95_s, times.p99_s, times.max_s)]

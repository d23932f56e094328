"""`tasklab load`: a steady load from Locust, with or without a fault, judged as any other run."""

import importlib.util
from contextlib import closing
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.chosen_system import ChosenSystem
from tasklab.commands.plugin_options import with_system
from tasklab.exit_codes import EXIT_UNKNOWN, EXIT_USAGE, explained, fail
from tasklab.presentation.load_figures import print_figures
from tasklab.presentation.runs import print_judged, say_started
from tasklab.presentation.terminal import Progress, print_json
from tasklab.running.environments import EnvironmentName, make_environment
from tasklab.running.experiments import run_load
from tasklab.running.judged_run import SEED_MAX, JudgedRun
from tasklab.running.places import place_for_runs

if TYPE_CHECKING:
    from loadtests.arrivals import LoadPlan
    from scenarios.record.run_facts import LoadFigures

RATE_MAX = 5000.0
DURATION_MAX_S = 3600.0
TASKS_MAX = 200_000


@with_system
def load(
    chosen: ChosenSystem,
    rate: Annotated[float, typer.Option(min=0.1, max=RATE_MAX, help="Submissions a second, evenly spaced.")] = 50.0,
    duration: Annotated[
        float, typer.Option(min=0.1, max=DURATION_MAX_S, help="Duration of the load, in seconds.")
    ] = 20.0,
    fault: Annotated[
        str | None,
        typer.Option(
            metavar="SCENARIO",
            help="Strike with the faults of this scenario, at the same share of the work; see `tasklab list scenarios`.",
        ),
    ] = None,
    environment: Annotated[
        EnvironmentName | None,
        typer.Option(
            metavar="[embedded|local|containers|external]",
            help="local: real services that the lab starts; embedded: no server; containers and "
            "external: see `tasklab run --help`. Default: local, or as the configuration file states.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=SEED_MAX, help="Decides everything random. Default: drawn, and printed."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Holds the run directory. Default: runs/DATE-TIME.")
    ] = None,
    web: Annotated[
        bool,
        typer.Option(
            "--web", help="With Locust's web page: the load begins when you press start there. Its address is printed."
        ),
    ] = False,
    web_port: Annotated[
        int | None, typer.Option(min=1024, max=65535, help="Port of the page. Default: a free port.")
    ] = None,
    autostart: Annotated[bool, typer.Option("--autostart", help="With --web: begin at once.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Verdicts and figures as JSON on standard output.")] = False,
) -> None:
    """Load a system at a steady rate, independent of its answers, and judge the fate of every task.

    Example: tasklab load --rate 100 --duration 40 --fault broker_killed
    """
    if (autostart or web_port is not None) and not web:
        fail("--autostart and --web-port need --web", EXIT_USAGE)
    if not 1 <= rate * duration <= TASKS_MAX:
        fail(f"--rate times --duration is the number of tasks: 1 to {TASKS_MAX}, not {rate * duration:g}", EXIT_USAGE)
    if importlib.util.find_spec("locust") is None:
        fail("unknown: Locust is not installed; install it with: pip install 'tasklab[load]'", EXIT_UNKNOWN)
    with explained():
        from chaos.ports import PortAllocator
        from loadtests.arrivals import LoadPlan
        from scenarios.plugin.opening import open_scenario
        from tasklab.running.locust_driver import Page

        _check_port(web_port)
        struck = None if fault is None else open_scenario(fault, directory=chosen.directory)
        plugin = chosen.open()
        drawn = SystemRandom().randrange(SEED_MAX) if seed is None else seed
        plan = LoadPlan(rate, duration, drawn)
        started_later = make_environment(chosen.environment(environment), plugin)
        place = place_for_runs(out)
        say = Progress()
        say(f"seed {drawn}")
        with closing(PortAllocator()) as ports, started_later as world:
            page = Page(web_port or ports.allocate(), autostart) if web else None
            say_started(world, say)
            stated = f"{_stated(plan, fault)} {chosen.options()}"
            repeat = f"tasklab load {stated} --environment {world.name} --seed {drawn}"
            judged, figures = run_load(
                plan, plugin, world, struck=struck, page=page, place=place, repeat=repeat, say=say
            )
    if as_json:
        _print_json(judged, figures)
    else:
        print_judged(judged)
        print_figures(figures)
    raise typer.Exit(judged.exit_code)


def _check_port(port: int | None) -> None:
    from chaos.errors import ServiceUnavailable
    from chaos.ports import is_free

    if port is not None and not is_free(port):
        raise ServiceUnavailable("Locust's page", f"port {port} is taken; leave --web-port out to get a free one")


def _stated(plan: "LoadPlan", fault: str | None) -> str:
    struck = "" if fault is None else f" --fault {fault}"
    return f"--rate {plan.rate_per_s:g} --duration {plan.duration_s:g}{struck}"


def _print_json(judged: JudgedRun, figures: "LoadFigures") -> None:
    import msgspec

    document = {"runs": [{**judged.to_json(), "load": msgspec.to_builtins(figures)}], "exit_code": judged.exit_code}
    print_json(document)

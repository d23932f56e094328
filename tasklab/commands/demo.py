"""`tasklab demo`: shows the lab on this machine, with the installed programs; ends with a table and a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN, explained, worst
from tasklab.presentation.campaign_line import shown
from tasklab.presentation.celery_shop import print_celery_shop
from tasklab.presentation.opening import print_opening
from tasklab.presentation.runs import print_runs_json, say_started
from tasklab.presentation.terminal import STYLE_OF_EXIT, Progress, console
from tasklab.running.celery_shop import ShopRuns, run_celery_shop
from tasklab.running.environments import EnvironmentName, make_environment
from tasklab.running.experiments import run_in_environment
from tasklab.running.judged_run import SEED_MAX, JudgedRun, exit_code_of_runs, report_of_runs
from tasklab.running.opening import WORLDS, open_with_simulator
from tasklab.running.places import place_for_runs

if TYPE_CHECKING:
    from rich.text import Text

    from chaos.services.addresses import ServiceName
    from scenarios.contract.system import System

EMBEDDED_SCENARIOS = (
    "worker_killed_after_effect",
)  # not lease_expires: the only process is paused, so none can take over
SCENARIOS = (
    *("worker_killed_after_effect", "broker_killed", "ack_lost", "redis_failover"),
    *("lease_expires", "lock_expires", "relay_killed_after_publish"),
)
"""On real services: the table of the README."""
SYSTEMS = ("reference", "naive")
RULINGS = {EXIT_HELD: "held", EXIT_BROKEN: "BROKEN", EXIT_UNKNOWN: "unknown"}


def demo(
    seed: Annotated[int, typer.Option(min=0, max=SEED_MAX, help="Decides everything random.")] = 7,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Holds the run directories. Default: runs/DATE-TIME.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Verdicts as JSON on standard output.")] = False,
) -> None:
    """Break the reference system and the naive design by seven scenarios of the catalogue, and show them side by side.

    First in the simulator: thousands of worlds of the healthy reference, and a planted defect that is found and told as a story. Then
    embedded, without a server or root; then, if MariaDB or MySQL, Redis, RabbitMQ and Toxiproxy are installed, on real services
    that the lab starts. Last, in a clone, the sample Celery app with Celery's defaults and with reliable settings. Exit code 0 if
    the reference held everywhere: the others are expected to break.
    """
    with explained():
        from scenarios.lookup import find_system

        say = Progress()
        place = place_for_runs(out)
        missing = _missing_programs(frozenset().union(*(find_system(name).needs for name in SYSTEMS)))
        say(_what_comes(0 if missing else len(SYSTEMS) * len(SCENARIOS)))
        opening = open_with_simulator(seed, say, shown)
        if not as_json:
            print_opening(opening)
        say("embedded: one process on SQLite, killed with kill -9 and restarted")
        judged = _run_all(EnvironmentName.EMBEDDED, [find_system("reference")], EMBEDDED_SCENARIOS, seed, place, say)
        if not missing:
            say("local: real services on loopback")
            systems = [find_system(name) for name in SYSTEMS]
            judged += _run_all(EnvironmentName.LOCAL, systems, SCENARIOS, seed, place, say)
        report = report_of_runs(judged, place)
        shop = ShopRuns(why_not="it needs real services") if missing else run_celery_shop(seed, place, say)
    if as_json:
        print_runs_json(judged, simulated=opening.to_json(), celery_shop=shop.to_json())
    else:
        _print(judged, report, missing)
        print_celery_shop(shop)
    raise typer.Exit(
        worst((opening.exit_code, exit_code_of_runs([one for one in judged if one.name.system == "reference"])))
    )


def _missing_programs(services: "frozenset[ServiceName]") -> list[str]:
    """The programs that these services need and this machine lacks."""
    from chaos.binaries import inventory

    return [found.program.name for found in inventory() if found.path is None and found.program.service in services]


def _what_comes(local: int) -> str:
    """The planned runs, and their approximate duration on two cores."""
    real = (
        f"{local} runs on real services (two minutes), and a Celery app (a minute and a half)"
        if local
        else "none on real services"
    )
    return f"planned: {WORLDS} simulated worlds, {len(EMBEDDED_SCENARIOS)} run embedded (half a minute with it), {real}"


def _run_all(
    environment: EnvironmentName,
    systems: "list[System]",
    scenarios: "tuple[str, ...] | list[str]",
    seed: int,
    place: Path,
    say: Progress,
) -> list[JudgedRun]:
    from scenarios.lookup import find_scenario

    with make_environment(environment, systems[0]) as world:
        say_started(world, say)
        return [
            run_in_environment(
                find_scenario(name),
                name,
                system,
                f"--system {system.name}",
                world,
                seed=seed,
                place=place / world.name,
                say=say,
            )
            for name in scenarios
            for system in systems
        ]


def _print(judged: list[JudgedRun], report: Path | None, missing: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from chaos.binaries import INSTALL

    table = Table(title="verdicts", title_justify="left")
    for heading in ("scenario", "environment", *SYSTEMS):
        table.add_column(heading, overflow="fold")
    for environment, scenario in dict.fromkeys((one.name.environment, one.name.scenario) for one in judged):
        cells = {
            one.name.system: one
            for one in judged
            if (one.name.environment, one.name.scenario) == (environment, scenario)
        }
        table.add_row(scenario, environment, *(_cell(cells.get(system)) for system in SYSTEMS))
    terminal = console()
    terminal.print()
    terminal.print(table)
    if missing:
        terminal.print(Text(f"not run on real services; missing: {', '.join(missing)}. {INSTALL} brings it."))
    if report is not None:
        terminal.print(Text(f"report: {report}"))


def _cell(one: JudgedRun | None) -> "Text":
    from rich.text import Text

    if one is None:
        return Text("–", style="dim")
    if one.judgement is None:
        return Text(f"not applicable: {one.why}", style="dim")
    broken = [verdict.guarantee.value for verdict in one.judgement.verdicts if verdict.ruling == "broken"]
    text = RULINGS[one.exit_code] + (f": {', '.join(broken)}" if broken else "")
    return Text(text, style=STYLE_OF_EXIT[one.exit_code])

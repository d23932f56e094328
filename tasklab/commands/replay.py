"""`tasklab replay`: repeats one simulated world exactly, from its token."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tasklab.exit_codes import explained
from tasklab.module_path import append_current_directory
from tasklab.presentation.runs import print_judged, print_runs_json
from tasklab.presentation.story import print_story
from tasklab.presentation.terminal import Progress
from tasklab.running.environments import SIMULATED
from tasklab.running.judged_run import JudgedRun, RunName, judged
from tasklab.running.places import directory_of_run, place_for_runs

if TYPE_CHECKING:
    from scenarios.record.run_facts import Turn
    from scenarios.simulated.search.token import Token
    from scenarios.stored.rundir import RunDirectory


def replay(
    token: Annotated[
        str,
        typer.Argument(metavar="TOKEN|RUNDIR", help="As `tasklab simulate` prints it, or a run that was simulated."),
    ],
    system: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:ATTRIBUTE",
            help="Your own system, if the token names it: its code is imported. By default only registered systems are.",
        ),
    ] = None,
    scenario: Annotated[
        str | None, typer.Option(metavar="MODULE:ATTRIBUTE", help="The same for a scenario of yours.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Holds the run directory. Default: runs/DATE-TIME.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Verdicts as JSON on standard output.")] = False,
) -> None:
    """Repeat one simulated world, judge it, write a run directory with a report, and, if a promise broke, tell how.

    Example: tasklab replay swarm~reference~17
    """
    with explained():
        from scenarios.simulated.search.token import check_trusted

        append_current_directory()
        named = _token(token)
        check_trusted(named, system=system, scenario=scenario)
        replayed, turns = _replay(named, place_for_runs(out))
    if as_json:
        print_runs_json([replayed])
    else:
        print_judged(replayed)
        if turns:
            print_story(turns)
    raise typer.Exit(replayed.exit_code)


def _replay(token: "Token", place: Path) -> "tuple[JudgedRun, list[Turn]]":
    """The run, and the story of the first promise that broke."""
    from scenarios.lookup import find_system
    from scenarios.simulated.directory import write_run
    from scenarios.simulated.run import simulate
    from scenarios.simulated.search.explore import explorer_of
    from scenarios.simulated.search.shrink import broken_promises
    from scenarios.simulated.search.story import tell
    from scenarios.simulated.search.token import options_of

    explorer = explorer_of(token.system)
    plan = token.plan or explorer.series(token.series)(token.seed)
    system = find_system(token.system).name
    directory_of_run(place, plan.scenario, system, plan.seed)  # refuses an invalid name before the work
    world = simulate(plan, explorer.simulation)
    broken = broken_promises(world)
    turns = tell(world, broken[0]) if broken else []
    name = RunName(plan.scenario, system, SIMULATED, plan.seed, f"tasklab replay {token}{options_of(token)}")

    def carry_out(directory: Path) -> "RunDirectory":
        return write_run(world, directory, system=system, repeat=name.repeat, steps=turns)

    return judged(name, place, carry_out, Progress()), turns


def _token(text: str) -> "Token":
    """The token itself, or the token of the simulated run in this directory."""
    from scenarios.errors import WrongUsage
    from scenarios.simulated.search.token import Token, read_token
    from scenarios.stored.rundir import RUN_FILE, RunDirectory

    directory = Path(text)
    if "~" in directory.name or not (directory / RUN_FILE).exists():  # a token may be longer than any file name
        return read_token(text)
    try:
        facts = RunDirectory(directory).read_facts()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WrongUsage(f"{text}: {RUN_FILE} is damaged, so the world to replay is unknown: {error}") from error
    words = facts.repeat.split()
    if facts.environment != SIMULATED:
        raise WrongUsage(f"{text} was not simulated; it is repeated by: {facts.repeat}")
    if words[:2] == ["tasklab", "replay"] and len(words) > 2:
        return read_token(words[2])
    if "--system" not in words[:-1]:
        raise WrongUsage(f"{text}: {RUN_FILE} does not say which system was simulated")
    return Token(facts.scenario, words[words.index("--system") + 1], facts.seed)

"""`tasklab replay`: one simulated world again, exactly as it was, from the line that names it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.output import Progress, explained
from tasklab.commands.places import place_for_runs
from tasklab.commands.run import JudgedRun, print_judged, print_runs_json
from tasklab.commands.story import print_story

if TYPE_CHECKING:
    from scenarios.simulated.search.token import Token


def replay(
    token: Annotated[
        str,
        typer.Argument(metavar="TOKEN|RUNDIR", help="As `tasklab simulate` prints it, or a run that was simulated."),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Holds the run directory. Default: runs/DATE-TIME.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Verdicts as JSON on standard output.")] = False,
) -> None:
    """Run one simulated world again, judge it, leave a run directory with a report, and, where a promise broke, tell how.

    Example: tasklab replay swarm~reference~17
    """
    with explained():
        from reports.build import write_report
        from scenarios.lookup import find_system
        from scenarios.simulated.directory import write_run
        from scenarios.simulated.run import simulate
        from scenarios.simulated.search.explore import explorer_of
        from scenarios.simulated.search.shrink import broken_promises
        from scenarios.simulated.search.story import tell
        from scenarios.stored.judge import judge_run
        from scenarios.stored.rundir import REPORT_FILE

        wanted = _token(token)
        place = place_for_runs(out)
        Progress()(f"tasklab replay {wanted}")
        explorer = explorer_of(wanted.system)
        plan = wanted.plan or explorer.series(wanted.series)(wanted.seed)
        world = simulate(plan, explorer.simulation)
        broken = broken_promises(world)
        turns = tell(world, broken[0]) if broken else []
        system = find_system(wanted.system).name
        directory = place / f"{plan.scenario}-{system}-{plan.seed}"
        written = write_run(world, directory, system=system, repeat=f"tasklab replay {wanted}", steps=turns)
        judgement = judge_run(written)
        report = write_report([directory], directory / REPORT_FILE)
    judged = JudgedRun(plan.scenario, system, "simulated", plan.seed, directory, report, judgement)
    if as_json:
        print_runs_json([judged])
    else:
        print_judged(judged)
        if turns:
            print_story(turns)
    raise typer.Exit(judged.exit_code)


def _token(text: str) -> "Token":
    """The token, or that of a run directory which a simulated run has left."""
    from scenarios.errors import WrongUsage
    from scenarios.simulated.search.token import Token, read_token
    from scenarios.stored.rundir import RUN_FILE, RunDirectory

    directory = Path(text)
    if "~" in directory.name or not (directory / RUN_FILE).exists():  # a token may be longer than any name of a file
        return read_token(text)
    facts = RunDirectory(directory).read_facts()
    words = facts.repeat.split()
    if facts.environment != "simulated":
        raise WrongUsage(f"{text} was not simulated; it is repeated by: {facts.repeat}")
    if words[:2] == ["tasklab", "replay"]:
        return read_token(words[2])
    return Token(facts.scenario, words[words.index("--system") + 1], facts.seed)

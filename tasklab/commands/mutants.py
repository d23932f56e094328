"""`tasklab mutants`: for each planted defect, the promise that finds it, the number of worlds, and the steps of its story."""

from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, explained
from tasklab.presentation.story import print_story
from tasklab.presentation.terminal import Progress, console, print_json
from tasklab.running.judged_run import SEED_MAX
from tasklab.running.mutant_search import look_for

if TYPE_CHECKING:
    from scenarios.simulated.search.hunt import Finding, ShrunkCatch


def mutants(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME…]", help="Names of mutants. Default: all.")
    ] = None,
    seed: Annotated[int, typer.Option(min=1, max=SEED_MAX, help="The first world of the swarm.")] = 1,
    seconds: Annotated[float, typer.Option(min=1.0, help="Limit of the search for each mutant.")] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="One document on standard output.")] = False,
) -> None:
    """Plant each defect in the reference and search for it in simulated worlds: does one of the expected promises break?

    Exit code 1 if a defect is not found. A finding is shrunk and printed step by step, with the command that repeats it.

    Example: tasklab mutants key_per_attempt
    """
    with explained():
        from scenarios.lookup import mutant_names
        from scenarios.systems.mutant import find_mutant

        say = Progress()
        chosen = [find_mutant(name) for name in names or mutant_names()]
        findings = []
        for mutant in chosen:
            say(f"{mutant.name}: {mutant.defect}")
            finding, told = look_for(mutant, first_seed=seed, seconds=seconds)
            findings.append(finding)
            if not as_json:
                _print_one(finding, told)
    if as_json:
        print_json({"mutants": findings})
    else:
        _print_all(findings)
    raise typer.Exit(EXIT_HELD if all(finding.found for finding in findings) else EXIT_BROKEN)


def _print_one(finding: "Finding", told: "ShrunkCatch | None") -> None:
    if told is None:
        print(f"{finding.name}: NOT FOUND in {finding.seeds} worlds, {finding.seconds:.1f} s")
        return
    print(f"{finding.name}: found by {finding.by} after {finding.seeds} worlds, {finding.seconds:.1f} s")
    print_story(told.turns)
    print(f"  {finding.replay}\n")


def _print_all(findings: "list[Finding]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="planted defects", title_justify="left")
    for heading in ("defect", "found by", "worlds", "seconds", "steps"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        by = Text(finding.by, style="green") if finding.by else Text("NOT FOUND", style="red")
        table.add_row(finding.name, by, str(finding.seeds), f"{finding.seconds:.1f}", str(finding.steps or "–"))
    console().print(table)

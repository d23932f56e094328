"""`tasklab mutants`: which planted defect is found by which promise, after how many worlds, and told in how many steps."""

import time
from itertools import count
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.output import EXIT_BROKEN, EXIT_HELD, Progress, console, explained, print_json
from tasklab.commands.run import SEED_MAX
from tasklab.commands.story import print_story

if TYPE_CHECKING:
    from scenarios.simulated.search.hunt import Finding, Told
    from scenarios.systems.mutant import Mutant

SHRINK_S = 15.0
PACKAGE = "scenarios.systems.mutants"


def mutants(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME…]", help="Of the mutants. None: all.")] = None,
    seed: Annotated[int, typer.Option(min=1, max=SEED_MAX, help="The first world of the swarm that is looked at.")] = 1,
    seconds: Annotated[float, typer.Option(min=1.0, help="For how long each is looked for.")] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="One document on standard output.")] = False,
) -> None:
    """Plant each defect in the reference and look for it in simulated worlds: is it found, and by the promise that has to find it?

    Exit code 1 if one is not found. What is found is shrunk, told step by step, and printed as a line that repeats it.

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


def look_for(mutant: "Mutant", *, first_seed: int, seconds: float) -> "tuple[Finding, Told | None]":
    """Whether and how the defect is found, and the story of it."""
    from scenarios.simulated.search.hunt import Finding, hunt, shrink_and_tell

    simulation = mutant.simulation()
    expected = [promise.value for promise in mutant.expected]
    began_s = time.monotonic()
    catch, seeds = hunt(
        simulation, mutant.expected, count(first_seed), is_over=lambda: time.monotonic() > began_s + seconds
    )
    took_s = round(time.monotonic() - began_s, 3)
    if catch is None:
        missed = Finding(name=mutant.name, found=False, by=None, expected_by=expected, seeds=seeds, seconds=took_s)
        return missed, None
    until_s = time.monotonic() + SHRINK_S
    told = shrink_and_tell(
        catch.world,
        simulation,
        f"{PACKAGE}.{mutant.name}:system",
        catch.promise,
        is_over=lambda: time.monotonic() > until_s,
    )
    found = Finding(
        name=mutant.name,
        found=True,
        by=catch.promise.value,
        expected_by=expected,
        seeds=seeds,
        seconds=took_s,
        steps=len(told.turns),
        replay=f"tasklab replay {told.token}",
    )
    return found, told


def _print_one(finding: "Finding", told: "Told | None") -> None:
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

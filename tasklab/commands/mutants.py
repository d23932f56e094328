"""`tasklab mutants`: is every planted defect found, by which promise? With `--generate`: small changes of the reference's source."""

import os
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, EXIT_INTERRUPTED, EXIT_USAGE, explained, fail
from tasklab.presentation.story import print_story
from tasklab.presentation.terminal import Progress, console, print_json
from tasklab.running.judged_run import SEED_MAX
from tasklab.running.mutant_search import look_for

if TYPE_CHECKING:
    from scenarios.simulated.search.hunt import Finding, ShrunkCatch

PLANTED_S = 120.0
GENERATED_S = 20.0
GENERATED = 300


def mutants(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME…]",
            help="Names of mutants; with --generate, files of the reference. Default: all; its delivery path.",
        ),
    ] = None,
    generate: Annotated[
        bool,
        typer.Option("--generate", help="Instead of planted defects: small changes of the source, drawn by --seed."),
    ] = False,
    count: Annotated[
        int | None, typer.Option(min=1, help="With --generate: how many changes are drawn. Default: 300.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="With --generate: only this change, FILE:LINE.NUMBER. May be repeated."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=1, max=SEED_MAX, help="The first world. Default: 1; with --generate, drawn and printed."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.1, help="Limit for each mutant: of real time, 120; with --generate, of processor time, 20."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --generate: number of mutants tried at the same time. Default: one a processor."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One document on standard output.")] = False,
) -> None:
    """Plant each defect in the reference and search for it in simulated worlds: does one of the expected promises break?

    Exit code 1 if a defect is not found. A finding is shrunk and printed step by step, with the command that repeats it.

    With --generate, the changes are made by rule: a comparison, a constant, a condition, a statement. A survivor is printed with its
    diff and the command that repeats it; docs/mutants.md explains those that are known.

    Example: tasklab mutants key_per_attempt

    Example: tasklab mutants --generate loops/relay.py --count 20
    """
    if not generate and (only or count is not None or jobs is not None):
        fail("--only, --count and --jobs need --generate", EXIT_USAGE)
    if generate:
        first = SystemRandom().randint(1, 1_000_000) if seed is None else seed
        limit_s = GENERATED_S if seconds is None else seconds
        at_a_time = jobs or os.cpu_count() or 1
        _generated(names, only, first, count or GENERATED, limit_s, at_a_time, as_json=as_json)
    _planted(names, seed or 1, PLANTED_S if seconds is None else seconds, as_json=as_json)


def _planted(names: list[str] | None, seed: int, seconds: float, *, as_json: bool) -> NoReturn:
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


def _generated(
    files: list[str] | None, ids: list[str] | None, seed: int, count: int, seconds: float, jobs: int, *, as_json: bool
) -> NoReturn:
    """Exit code 1 if a change survives; 3 if the reference itself is not silent in the same worlds."""
    with explained():
        from tasklab.mutation.campaign import DELIVERY_PATH, Trials, check_control, drawn, mutants_of, only
        from tasklab.presentation.mutation import document_of, line_of, print_survivors

        say = Progress()
        named = sorted({one.partition(":")[0] for one in ids or ()})
        every = mutants_of(files or named or DELIVERY_PATH)
        chosen = only(every, ids) if ids else drawn(every, seed, count)
        drawn_by = "" if ids else f", drawn by --seed {seed}"
        say(f"{len(chosen)} of {len(every)} changes{drawn_by}; {seconds:g} s of processor time each")
        campaign = Trials(seed, seconds, jobs)
        tried = []
        is_interrupted = False
        try:
            check_control(campaign.control())
            for mutant, outcome in campaign.outcomes(chosen):
                tried.append((mutant, outcome))
                say(f"{len(tried)} of {len(chosen)}: {line_of(mutant, outcome)}")
        except KeyboardInterrupt:
            say("interrupted; the summary covers the mutants up to now")
            is_interrupted = True
    tried.sort(key=lambda one: (one[0].change.file, one[0].change.start))
    if as_json:
        print_json(document_of(tried, seed=seed, seconds=seconds))
    else:
        print_survivors(tried, seed=seed, seconds=seconds)
    if is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    raise typer.Exit(EXIT_BROKEN if any(outcome.how == "survived" for _, outcome in tried) else EXIT_HELD)


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

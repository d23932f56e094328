"""`tasklab conform`: does a system do what its protocol says, before any fault?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.chosen_system import ChosenSystem
from tasklab.commands.plugin_options import with_system
from tasklab.exit_codes import explained
from tasklab.presentation.terminal import Progress, print_json
from tasklab.running.environments import EnvironmentName, make_environment
from tasklab.running.places import place_for_runs

if TYPE_CHECKING:
    from scenarios.contract.system import System
    from tasklab.conforming.findings import WordFindings


@with_system
def conform(
    *,
    chosen: ChosenSystem,
    environment: Annotated[
        EnvironmentName | None,
        typer.Option(help="local, embedded, containers or external, as for `tasklab run`."),
    ] = None,
    lines_only: Annotated[
        bool,
        typer.Option(
            "--lines-only", help="Only the lines of a program that speaks the protocol itself; no service is started."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Place of the run directory. Default: runs/DATE-TIME."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One document on standard output.")] = False,
) -> None:
    """Check a system before any fault: does each word do what the protocol says? Says what to mend, a sentence each.

    First the lines of a program that speaks the protocol (--system ./client.js): unknown requests and fields, several requests at once,
    the end of its input. Then one run: processes start and stay up; a submission is seen by a worker and has its effect; status and account
    are true while a task is at work and after it; keys, cancellation, pauses, redrives, results, children, due times and schedules, if the
    system has them; a worker is killed and started again; the trail is valid. Promises are not judged: that is `tasklab run`.
    Exit code 0 if nothing is to be mended, 1 if something is, 3 if the lab could not tell.

    Example: tasklab conform --system ./client.js

    Example: tasklab conform --celery shop.tasks:app --task shop.tasks.charge
    """
    with explained():
        from scenarios.errors import WrongUsage
        from tasklab.conforming.findings import WordFindings
        from tasklab.conforming.wire import check_wire

        speaker = chosen.speaker()
        if lines_only and speaker is None:
            raise WrongUsage("--lines-only is for a program that speaks the protocol itself: --system ./PROGRAM")
        say = Progress()
        findings = WordFindings(say)
        if speaker is not None:
            check_wire(speaker, findings, deadline_s=chosen.timeout_s)
        system = None if lines_only else _opened(chosen, findings, is_program=speaker is not None)
        directory = (
            None if system is None else _checked(system, chosen, chosen.environment(environment), findings, out, say)
        )
    if as_json:
        listed = [finding.to_json() for finding in findings.all]
        print_json({"findings": listed, "directory": directory and str(directory), "exit_code": findings.exit_code})
    else:
        from tasklab.presentation.conform import print_findings

        print_findings(chosen.options(), findings.all, directory)
    raise typer.Exit(findings.exit_code)


def _opened(chosen: ChosenSystem, findings: "WordFindings", *, is_program: bool) -> "System | None":
    """The system, or a finding that says why it cannot be opened.

    Raises:
        WrongUsage: there is no such system; or an app cannot be read.
    """
    from scenarios.errors import MalformedStatement, PluginLost, UnknownName, WrongUsage
    from tasklab.conforming.wire import MEND_LOST

    try:
        system = chosen.open()
    except PluginLost as error:
        findings.mend("describe", str(error), MEND_LOST)
        return None
    except WrongUsage as error:
        is_statement = isinstance(error, MalformedStatement) or (
            isinstance(error, UnknownName) and error.kind != "system"
        )
        if not (is_program or is_statement):
            raise
        findings.mend("describe", str(error), "state only what docs/protocol.md lists under `describe`")
        return None
    from scenarios.contract.system import needs_of

    needs = ", ".join(sorted(needs_of(system))) or "no service"
    findings.ok("describe", f"{system.name} claims {len(system.claims)} promises, needs {needs}")
    return system


def _checked(
    system: "System",
    chosen: ChosenSystem,
    environment: EnvironmentName,
    findings: "WordFindings",
    out: Path | None,
    say: Progress,
) -> Path:
    """Every check of the running system; its run directory.

    Raises:
        ChaosError: a service did not start.
    """
    from tasklab.conforming.conform import check_running

    repeat = f"tasklab conform {chosen.options()} --environment {environment.value}"
    place = place_for_runs(out)
    with make_environment(environment, system) as world:
        return check_running(system, world, findings, place=place, repeat=repeat, say=say)

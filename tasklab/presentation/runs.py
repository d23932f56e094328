"""Judged runs on the terminal: a table of verdicts each, or all of them as one JSON document."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tasklab.presentation.sentences import account_in_words, sentence_of
from tasklab.presentation.terminal import STYLE_OF_EXIT, STYLE_OF_RULING, Progress, console, print_json
from tasklab.running.environments import SIMULATED
from tasklab.running.judged_run import JudgedRun, exit_code_of_runs

if TYPE_CHECKING:
    from rich.text import Text

    from chaos.environment import Environment
    from scenarios.judging.verdict import Verdict


def say_started(world: "Environment", say: Progress) -> None:
    """How long each service took to start."""
    if world.startup_s:
        parts = ", ".join(f"{service} {seconds:.1f} s" for service, seconds in sorted(world.startup_s.items()))
        say(f"services are up: {parts}")


def print_runs_json(runs: Sequence[JudgedRun], **more: object) -> None:
    """All runs as one document, together with `more`."""
    print_json({"runs": [run.to_json() for run in runs], **more, "exit_code": exit_code_of_runs(runs)})


def print_judged(run: JudgedRun) -> None:
    """A run's verdicts as a table, its account, its report, and the verdict in a sentence."""
    from rich.table import Table

    terminal = console()
    terminal.print()
    heading = f"{run.name.scenario} × {run.name.system}"
    if run.judgement is None:
        terminal.print(f"{heading}: unknown, not applicable: {run.why}", style="yellow")
        return
    table = Table(title=f"{heading}, seed {run.name.seed}", title_justify="left", expand=False)
    table.add_column("promise")
    table.add_column("verdict")
    table.add_column("reason", overflow="fold")
    for verdict in run.judgement.verdicts:
        table.add_row(verdict.guarantee.value, *_ruling_in_words(verdict))
    terminal.print(table)
    for problem in run.judgement.problems:
        terminal.print(f"problem: {problem}", style="yellow")
    account = run.judgement.reconciliation
    warm_ups = 0 if run.name.environment == SIMULATED else min(1, account.submitted)
    terminal.print(f"account: {account_in_words(account, warm_ups=warm_ups)}")
    terminal.print(f"report:  {run.report}")
    terminal.print(f"verdict: {sentence_of(run.judgement)}", style=STYLE_OF_EXIT[run.exit_code])


def _ruling_in_words(verdict: "Verdict") -> "tuple[Text, str]":
    from rich.text import Text

    if verdict.ruling == "held" and not verdict.exercised:
        return Text("held (not exercised)", style="dim"), ""
    return Text(verdict.ruling, style=STYLE_OF_RULING[verdict.ruling]), verdict.reason

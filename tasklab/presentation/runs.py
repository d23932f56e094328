"""Judged runs on the terminal: a table of verdicts for each, or all as one JSON document."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scenarios.judging.verdict import Ruling
from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN
from tasklab.presentation.run_notes import print_notes
from tasklab.presentation.sentences import account_in_words, is_all_one, sentence_of, shared_reason, untested_in_words
from tasklab.presentation.terminal import STYLE_OF_EXIT, STYLE_OF_RULING, Progress, console, print_json
from tasklab.running.environments import SIMULATED
from tasklab.running.judged_run import JudgedRun, exit_code_of_runs

if TYPE_CHECKING:
    from rich.text import Text

    from chaos.environment import Environment
    from scenarios.contract.system import System
    from scenarios.judging.verdict import Verdict
    from scenarios.record.run_facts import RunFacts

REFUSED_SHOWN = 5
"""Addresses outside of the lab that are printed of each log."""
WORST_FIRST = ((EXIT_BROKEN, Ruling.BROKEN), (EXIT_UNKNOWN, Ruling.UNKNOWN), (EXIT_HELD, Ruling.HELD))


def say_started(world: "Environment", say: Progress) -> None:
    """How long each service took to start."""
    if world.startup_s:
        parts = ", ".join(f"{service} {seconds:.1f} s" for service, seconds in sorted(world.startup_s.items()))
        say(f"services are up: {parts}")


def say_app(system: "System", say: Progress) -> None:
    """Of an app: whether its library was ever tried in this version, and the long waits that are shorter in the lab."""
    from scenarios.adapters.adapted import TRIED, untried
    from scenarios.contract.system import Versioned
    from scenarios.plugin.remote_system import settings_of

    if system.name in TRIED and isinstance(system, Versioned) and (note := untried(system.name, system.versions)):
        say(note)
    scaled = [f"{one.name} {one.value} → {one.scaled}" for one in settings_of(system) if one.scaled is not None]
    if scaled:
        say(f"long waits are scaled ({'; '.join(scaled)}); --unscaled leaves them")


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
    shared = shared_reason(run.judgement)
    for verdict in run.judgement.verdicts:
        ruling, reason = _ruling_in_words(verdict, run.facts)
        is_shared = verdict.ruling == "unknown" and reason == shared
        table.add_row(verdict.guarantee.value, ruling, "" if is_shared else reason)
    if not is_all_one(run.judgement):  # else the last line states it
        terminal.print(table)
        if shared and shared not in run.judgement.problems:
            terminal.print(f"unknown: {shared}", style="yellow")
    for problem in _problems_beside(run):
        terminal.print(f"problem: {problem}", style="yellow")
    for verdict in run.judgement.verdicts:
        if verdict.ruling is Ruling.BROKEN and verdict.guarantee.value in run.documented:
            terminal.print(f"documented: {verdict.guarantee.value}: {run.documented[verdict.guarantee.value]}")
    for log, addresses in run.refused.items():
        shown = ", ".join(addresses[:REFUSED_SHOWN]) + (", …" if len(addresses) > REFUSED_SHOWN else "")
        terminal.print(
            f"refused: {log} asked for {shown}: no service of the lab; nothing was contacted", style="yellow"
        )
    print_notes(run.deaths, run.open_tasks)
    account = run.judgement.reconciliation
    warm_ups = 0 if run.name.environment == SIMULATED else min(1, account.submitted)
    terminal.print(f"account: {account_in_words(account, warm_ups=warm_ups)}")
    terminal.print(f"report:  {run.report}")
    terminal.print(f"verdict: {sentence_of(run.judgement)}", style=STYLE_OF_EXIT[run.exit_code])


def print_several(runs: Sequence[JudgedRun], report: Path | None) -> None:
    """After several runs: the numbers of verdicts of each scenario that ran more than once, and the common report."""
    terminal = console()
    terminal.print()
    for rate in rates_of(runs):
        if rate["runs"] != 1:
            terminal.print(f"{rate['scenario']} × {rate['system']}: {rate['sentence']}")
    facts = {run.name.system: run.facts for run in runs if run.facts is not None}
    for system, promises in untested_of(runs if len(runs) > 1 else ()).items():
        for promise in promises:
            said = untested_in_words(promise, facts.get(system))
            terminal.print(f"{promise} × {system}: {said}", style="dim")
    if report is not None:
        terminal.print(f"report of all {len(runs)} runs: {report}")


def untested_of(runs: Sequence[JudgedRun]) -> dict[str, list[str]]:
    """By system: the promises that it claims and that none of its runs tested."""
    tested: dict[str, dict[str, bool]] = {}
    for run in runs:
        for verdict in run.judgement.verdicts if run.judgement is not None else ():
            of_system = tested.setdefault(run.name.system, {})
            name = verdict.guarantee.value
            of_system[name] = of_system.get(name, False) or verdict.exercised
    return {system: [name for name, is_tested in found.items() if not is_tested] for system, found in tested.items()}


def rates_of(runs: Sequence[JudgedRun]) -> list[dict[str, object]]:
    """By scenario and system: the number of judged runs, of each ruling among them, and a sentence."""
    rates: list[dict[str, object]] = []
    for scenario, system in dict.fromkeys((run.name.scenario, run.name.system) for run in runs):
        codes = [
            run.exit_code
            for run in runs
            if (run.name.scenario, run.name.system) == (scenario, system) and run.judgement is not None
        ]
        counts = {ruling.value: codes.count(code) for code, ruling in WORST_FIRST}
        words = ", ".join(f"{ruling} {number} of {len(codes)}" for ruling, number in counts.items() if number)
        rate = {"scenario": scenario, "system": system, "runs": len(codes), **counts}
        rates.append({**rate, "sentence": words or "not applicable"})
    return rates


def _problems_beside(run: JudgedRun) -> list[str]:
    """The problems that the sentence of the verdict does not state."""
    assert run.judgement is not None, "only a judged run has problems"
    sentence = sentence_of(run.judgement)
    return [problem for problem in run.judgement.problems if problem not in sentence]


def _ruling_in_words(verdict: "Verdict", facts: "RunFacts | None") -> "tuple[Text, str]":
    from rich.text import Text

    if verdict.ruling == "held" and not verdict.exercised:
        return Text("held (not exercised)", style="dim"), untested_in_words(verdict.guarantee.value, facts)
    return Text(verdict.ruling, style=STYLE_OF_RULING[verdict.ruling]), verdict.reason

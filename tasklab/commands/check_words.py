"""What `tasklab check` says of a judgement: the table of promises, the account, and the stories that prove the breaks."""

from collections.abc import Sequence

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scenarios.journey import STEPS_MAX, Journey, Step, fault_words, journeys
from scenarios.judge import Judgement
from scenarios.judging import Judged
from scenarios.shortest import crossed, shortest_story
from scenarios.verdict import Ruling, Verdict
from tasklab.commands.output import STYLE_OF_RULING, console, print_json

WITNESSES_TOLD = 5
"""For how many witnesses the journey is printed."""
PLACES_TOLD = 10
"""How many malformed places are printed."""


def print_journey(judged: Judged, witness: str, *, as_json: bool) -> None:
    """All that happened to one task, resource or user."""
    journey = journeys(judged.recorded.history, [witness])[witness]
    if as_json:
        steps = msgspec.to_builtins(journey.steps)
        print_json({"witness": witness, "journey": steps, "left_out": journey.left_out})
        return
    if not journey.steps:
        typer.echo(f"the history says nothing of {witness!r}")
    for line in _lines(journey):
        typer.echo(line)


def _lines(journey: Journey) -> list[str]:
    lines = [_line(step) for step in journey.steps]
    if journey.left_out:
        lines.insert(STEPS_MAX // 2, f"  … {journey.left_out} events in the middle left out …")
    return lines


def _line(step: Step) -> str:
    return f"  {step.t_ns / 1e9:10.3f} s  {step.lane:<8}  {step.actor:<12}  {step.text}"


def print_judged(judged: Judged) -> None:
    """The whole judgement, for a person."""
    terminal = console()
    judgement = judged.judgement
    for place in judgement.malformed[:PLACES_TOLD]:
        terminal.print(f"malformed: {place}")
    if len(judgement.malformed) > PLACES_TOLD:
        terminal.print(f"malformed: and {len(judgement.malformed) - PLACES_TOLD} more places")
    for problem in judgement.problems:
        terminal.print(f"problem: {problem}")
    untested = [verdict for verdict in judgement.verdicts if verdict.ruling is Ruling.HELD and not verdict.exercised]
    terminal.print(_table("promise", [verdict for verdict in judgement.verdicts if verdict not in untested]))
    if untested:
        names = ", ".join(verdict.guarantee.value for verdict in untested)
        terminal.print(f"held (not exercised, so no evidence): {names}")
    told = [verdict for verdict in judgement.not_claimed if verdict.ruling is Ruling.BROKEN]
    if told:
        terminal.print(_table("not claimed", told))
    _print_account(terminal, judgement)
    _print_proofs(terminal, judged)
    if judged.recorded.torn:
        terminal.print(f"\n{judged.recorded.torn} torn last line(s) passed over: their writers were killed")


def _print_proofs(terminal: Console, judged: Judged) -> None:
    history = judged.recorded.history
    proofs = [(verdict, witness) for verdict in judged.judgement.verdicts for witness in verdict.witnesses]
    for verdict, witness in proofs[:WITNESSES_TOLD]:
        story = shortest_story(history, verdict.guarantee, witness, judged.policy)
        terminal.print(f"\n{verdict.guarantee.value} is broken by {witness}:", style="bold")
        for span in crossed(history, story.steps):
            terminal.print(f"  meanwhile: {fault_words(span)}")
        for line in _lines(story):
            terminal.print(line)
    if len(proofs) > WITNESSES_TOLD:
        terminal.print(f"\nand {len(proofs) - WITNESSES_TOLD} more; `--witness TASK` tells the journey of any")


def _table(title: str, verdicts: Sequence[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in (title, "verdict", "why"):
        table.add_column(heading, justify="left", overflow="fold")
    for verdict in verdicts:
        table.add_row(
            verdict.guarantee.value, Text(verdict.ruling.value, STYLE_OF_RULING[verdict.ruling]), Text(verdict.reason)
        )
    return table


def _print_account(terminal: Console, judgement: Judgement) -> None:
    account = judgement.account
    counts = " + ".join(f"{count} {place.replace('_', ' ')}" for place, count in account.counts.items() if count)
    balance = "" if account.balanced else " — does not balance"
    terminal.print(f"\naccount: {account.submitted} submitted = {counts or 0}{balance}")
    repeats = ", ".join(f"{count} {cause.replace('_', ' ')}" for cause, count in judgement.duplicates.items() if count)
    terminal.print(f"repeated attempts by cause: {repeats or 'none'}")
    for promise, words in judgement.bounds.items():
        terminal.print(f"  {promise}: {words}")

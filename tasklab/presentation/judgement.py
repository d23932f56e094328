"""A judgement as `tasklab check` prints it: the table of promises, the account, and the stories that prove the breaks."""

from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scenarios.errors import WrongUsage, nearest
from scenarios.experiment.plan import warm_up
from scenarios.judging.journey import STEPS_MAX, Journey, JourneyStep, fault_words, journeys
from scenarios.judging.judge import Judgement
from scenarios.judging.shortest import crossed, shortest_story
from scenarios.judging.verdict import Ruling, Verdict
from scenarios.record.run_facts import RunFacts
from scenarios.stored.judge_files import Judged
from tasklab.presentation.sentences import account_in_words, is_all_one, run_again, sentence_of
from tasklab.presentation.terminal import STYLE_OF_EXIT, STYLE_OF_RULING, console, print_json

WITNESSES_TOLD = 5
"""Maximum number of witnesses whose journey is printed."""
PLACES_TOLD = 3
"""Maximum number of printed malformed places."""
NAMES_TOLD = 3
"""Maximum number of tasks named if the requested task does not exist."""


def print_journey(judged: Judged, witness: str, *, as_json: bool) -> None:
    """Print the journey of one task, resource or user.

    Raises:
        WrongUsage: the history has no event of it.
    """
    history = judged.recorded.history
    journey = journeys(history, [witness])[witness]
    if not journey.steps:
        raise WrongUsage(
            f"the history has no event of {witness!r}; {_some_names(witness, list(history.tasks), unnamed=judged.unremarkable.tasks)}"
        )
    if as_json:
        steps = msgspec.to_builtins(journey.steps)
        print_json({"witness": witness, "journey": steps, "left_out": journey.left_out})
        return
    terminal = console()
    for line in _lines(journey):
        terminal.print(line)


def _some_names(witness: str, tasks: Sequence[str], *, unnamed: int) -> str:
    """Some existing tasks; `unnamed` others were only counted."""
    if not tasks:
        return f"there are {unnamed} others" if unnamed else "it has no task"
    named = nearest(witness, tasks) or tasks[:NAMES_TOLD]
    rest = len(tasks) - len(named) + unnamed
    return f"there is {', '.join(map(repr, named))}" + (f", and {rest} more" if rest else "")


def _lines(journey: Journey) -> list[str]:
    lines = [_line(step) for step in journey.steps]
    if journey.left_out:
        lines.insert(STEPS_MAX // 2, f"  … {journey.left_out} events in the middle left out …")
    return lines


def _line(step: JourneyStep) -> str:
    return f"  {step.t_ns / 1e9:10.3f} s  {step.lane:<8}  {step.actor:<12}  {step.text}"


def print_judged(judged: Judged) -> None:
    """Print the whole judgement as text."""
    terminal = console()
    judgement = judged.judgement
    print_malformed(terminal, judgement.malformed)
    for warning in judgement.warnings:
        terminal.print(f"warning: {warning}")
    for problem in judgement.problems:
        terminal.print(f"problem: {problem}")
    if not is_all_one(judgement):
        _print_verdicts(terminal, judgement, judged.facts)
    if judged.recorded.history.events or judged.unremarkable.tasks:
        _print_account(terminal, judged)
    terminal.print(f"verdict: {sentence_of(judgement)}", style=STYLE_OF_EXIT[judgement.exit_code])
    _print_proofs(terminal, judged)
    if judged.recorded.torn:
        terminal.print(f"\n{judged.recorded.torn} torn last line(s) ignored: their writers were killed")


def print_malformed(terminal: Console, places: Sequence[str]) -> None:
    """Print the first malformed places, and the number of the others."""
    for place in places[:PLACES_TOLD]:
        terminal.print(f"malformed: {place}")
    if len(places) > PLACES_TOLD:
        terminal.print(f"malformed: and {len(places) - PLACES_TOLD} more places")


def _print_verdicts(terminal: Console, judgement: Judgement, facts: RunFacts | None) -> None:
    """A row for each promise; one line for all promises that were not put to the test."""
    untested = [verdict for verdict in judgement.verdicts if verdict.ruling is Ruling.HELD and not verdict.exercised]
    shown = [verdict for verdict in judgement.verdicts if verdict not in untested]
    if shown:
        terminal.print(_table("promise", shown))
    if untested:
        names = ", ".join(verdict.guarantee.value for verdict in untested)
        terminal.print(f"held (not exercised, so no evidence): {names}")
        if command := _test_of(untested, facts):
            terminal.print(f"these would be tested by: {command}")
    told = [verdict for verdict in judgement.not_claimed if verdict.ruling is Ruling.BROKEN]
    if told:
        terminal.print(_table("not claimed", told))


def _test_of(untested: Sequence[Verdict], facts: RunFacts | None) -> str:
    from scenarios.lookup import scenarios_testing  # imports the whole catalogue

    names = [one.guarantee.value for one in untested]
    if facts is not None and facts.tested_by:
        return run_again(facts, list(dict.fromkeys(one for name in names for one in facts.tested_by.get(name, [])[:1])))
    scenarios = dict.fromkeys(one for name in names for one in scenarios_testing(name)[:1])
    return f"tasklab run {' '.join(scenarios)}" if scenarios else ""


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
        terminal.print(f"\nand {len(proofs) - WITNESSES_TOLD} more; `--witness TASK` prints the journey of a task")


def _table(title: str, verdicts: Sequence[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in (title, "verdict", "why"):
        table.add_column(heading, justify="left", overflow="fold")
    for verdict in verdicts:
        table.add_row(
            verdict.guarantee.value, Text(verdict.ruling.value, STYLE_OF_RULING[verdict.ruling]), verdict.reason
        )
    return table


def _print_account(terminal: Console, judged: Judged) -> None:
    judgement = judged.judgement
    warm_ups = int(warm_up().task in judged.recorded.history.tasks)
    terminal.print(f"\naccount: {account_in_words(judgement.reconciliation, warm_ups=warm_ups)}")
    repeats = ", ".join(f"{count} {cause.replace('_', ' ')}" for cause, count in judgement.duplicates.items() if count)
    terminal.print(f"repeated attempts by cause: {repeats or 'none'}")
    for promise, words in judgement.bounds.items():
        terminal.print(f"  {promise}: {words}")

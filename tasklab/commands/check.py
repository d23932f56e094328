"""`tasklab check`: judge a stored run again, a foreign history, or a file of judged cases."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.output import EXIT_BROKEN, EXIT_HELD, STYLE_OF_RULING, console, explained, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from scenarios.guarantees import Guarantee
    from scenarios.journey import Step
    from scenarios.judge import Judgement
    from scenarios.judging import Judged
    from scenarios.policy import Policy
    from scenarios.verdict import Verdict


class HistoryFormat(enum.StrEnum):
    """How a history is written."""

    TASKLAB = "tasklab"
    JEPSEN = "jepsen"


WITNESSES_TOLD = 5
"""For how many witnesses the journey is printed."""


def check(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|RUNDIR", help="A run directory, or a history: JSON lines or one document; gzip too."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="The whole judgement as JSON.")] = False,
    claims: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Judge these promises as claimed, whatever the run or file claims."),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON file with the limits to hold the system to.")
    ] = None,
    witness: Annotated[
        str | None, typer.Option(metavar="TASK", help="Tell the journey of this task, resource or user instead.")
    ] = None,
    history_format: Annotated[
        HistoryFormat, typer.Option("--format", help="`jepsen`: operations of an old Jepsen run, in JSON or EDN.")
    ] = HistoryFormat.TASKLAB,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Judge by this instead: lock, status (linearizability of leases, of status reads). With --format jepsen: register, "
            "cas-register, mutex (linearizability), total-queue, queue, set, set-full, unique-ids; else what the operations call for.",
        ),
    ] = None,
    time_limit_s: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", min=0, help="After which linearizability is unknown.")
    ] = 60.0,
    cases: Annotated[
        bool, typer.Option("--cases", help="FILE holds judged cases: print those that come out otherwise.")
    ] = False,
) -> None:
    """Judge a history with the judges of today: every promise, the account, every repeat by its cause.

    A run directory is judged by what its system claims, and its verdicts.json is written again. A history that claims nothing is
    judged on the promises that it puts to the test. Exit code 0: all claimed promises held (--cases: no difference); 1: one is broken
    (a case differs); 2: wrong usage; 3: unknown.
    """
    # Here and not above: `tasklab --help` should not wait for decoders.
    from scenarios.errors import NothingToJudge
    from scenarios.judging import Question, judge_path

    with explained():
        if history_format is HistoryFormat.JEPSEN:
            from tasklab.commands.check_jepsen import check_jepsen, check_jepsen_cases

            if cases:
                raise typer.Exit(check_jepsen_cases(path, as_json=as_json))
            raise typer.Exit(check_jepsen(path, model=model, time_limit_s=time_limit_s, as_json=as_json))
        if cases:
            raise typer.Exit(_check_cases(path, as_json))
        question = Question(_claims(claims), _policy(policy), () if witness is None else (witness,))
        if model is not None and model not in ("lock", "status"):
            raise NothingToJudge(f"there is no model {model!r} of a history of tasks; there are lock and status")
        judged = judge_path(path, question)
    if model is not None and not judged.recorded.malformed:
        from tasklab.commands.check_objects import check_objects

        raise typer.Exit(check_objects(judged.recorded.history, model, time_limit_s=time_limit_s, as_json=as_json))
    if witness is not None:
        _tell(judged, witness, as_json)
    elif as_json:
        print_json(judged.judgement.to_json())
    else:
        _print(judged)
    raise typer.Exit(judged.judgement.exit_code)


def _claims(names: str | None) -> "frozenset[Guarantee] | None":
    from scenarios.judging import claims_from

    if names is None:
        return None
    return claims_from(name.strip() for name in names.split(",") if name.strip())


def _policy(file: Path | None) -> "Policy | None":
    import msgspec

    from scenarios.errors import NothingToJudge
    from scenarios.policy import policy_from

    if file is None:
        return None
    try:
        return policy_from(msgspec.json.decode(file.read_bytes()))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NothingToJudge(f"{file} holds no policy: {error}") from error


def _check_cases(file: Path, as_json: bool) -> int:
    import msgspec

    from scenarios.judging import differences, read_cases

    judged = read_cases(file)
    found = differences(judged)
    if as_json:
        print_json({"cases": len(judged), "differences": msgspec.to_builtins(found)})
    else:
        for one in found:
            typer.echo(
                f"{one.case}: {one.promise}: expected {dict(one.expected)}, is {dict(one.actual)} ({one.reason})"
            )
        typer.echo(f"{len(judged)} cases, {len(found)} differences")
    return EXIT_BROKEN if found else EXIT_HELD


def _tell(judged: "Judged", witness: str, as_json: bool) -> None:
    import msgspec

    from scenarios.journey import journey

    steps = journey(judged.recorded.history, witness)
    if as_json:
        print_json({"witness": witness, "journey": msgspec.to_builtins(steps)})
        return
    if not steps:
        typer.echo(f"the history says nothing of {witness!r}")
    for step in steps:
        typer.echo(_line(step))


def _line(step: "Step") -> str:
    return f"  {step.t_ns / 1e9:10.3f} s  {step.lane:<8}  {step.actor:<12}  {step.text}"


def _print(judged: "Judged") -> None:
    terminal = console()
    judgement = judged.judgement
    for place in judgement.malformed[:10]:
        terminal.print(f"malformed: {place}")
    for problem in judgement.problems:
        terminal.print(f"problem: {problem}")
    untested = [verdict for verdict in judgement.verdicts if verdict.ruling == "held" and not verdict.exercised]
    terminal.print(_table("promise", [verdict for verdict in judgement.verdicts if verdict not in untested]))
    if untested:
        names = ", ".join(verdict.guarantee.value for verdict in untested)
        terminal.print(f"held (not exercised, so no evidence): {names}")
    told = [verdict for verdict in judgement.not_claimed if verdict.ruling == "broken"]
    if told:
        terminal.print(_table("not claimed", told))
    _print_account(terminal, judgement)
    _print_proofs(terminal, judged)
    if judged.recorded.torn:
        terminal.print(f"\n{judged.recorded.torn} torn last line(s) passed over: their writers were killed")


def _print_proofs(terminal: "Console", judged: "Judged") -> None:
    from scenarios.journey import fault_words
    from scenarios.shortest import crossed, shortest_story

    history = judged.recorded.history
    proofs = [(verdict, witness) for verdict in judged.judgement.verdicts for witness in verdict.witnesses]
    for verdict, witness in proofs[:WITNESSES_TOLD]:
        steps = shortest_story(history, verdict.guarantee, witness, judged.policy)
        terminal.print(f"\n{verdict.guarantee.value} is broken by {witness}:", style="bold")
        for span in crossed(history, steps):
            terminal.print(f"  meanwhile: {fault_words(span)}")
        for step in steps:
            terminal.print(_line(step))
    if len(proofs) > WITNESSES_TOLD:
        terminal.print(f"\nand {len(proofs) - WITNESSES_TOLD} more; `--witness TASK` tells the journey of any")


def _table(title: str, verdicts: "Sequence[Verdict]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in (title, "verdict", "why"):
        table.add_column(heading, justify="left", overflow="fold")
    for verdict in verdicts:
        table.add_row(
            verdict.guarantee.value, Text(verdict.ruling.value, STYLE_OF_RULING[verdict.ruling]), Text(verdict.reason)
        )
    return table


def _print_account(terminal: "Console", judgement: "Judgement") -> None:
    account = judgement.account
    counts = " + ".join(f"{count} {place.replace('_', ' ')}" for place, count in account.counts.items() if count)
    balance = "" if account.balanced else " — does not balance"
    terminal.print(f"\naccount: {account.submitted} submitted = {counts or 0}{balance}")
    repeats = ", ".join(f"{count} {cause.replace('_', ' ')}" for cause, count in judgement.duplicates.items() if count)
    terminal.print(f"repeated attempts by cause: {repeats or 'none'}")
    for promise, words in judgement.bounds.items():
        terminal.print(f"  {promise}: {words}")

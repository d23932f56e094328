"""`tasklab check`: judge a stored run again, a foreign history, or a file of judged cases."""

import enum
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, explained, warn
from tasklab.presentation.terminal import harmless, print_json

if TYPE_CHECKING:
    from scenarios.judging.guarantees import Guarantee
    from scenarios.judging.policy import Policy
    from scenarios.stored.judge_files import JudgeOptions


class HistoryFormat(enum.StrEnum):
    """The format of a history."""

    TASKLAB = "tasklab"
    JEPSEN = "jepsen"


TIME_LIMIT_S = 60.0


def check(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|RUNDIR",
            help="A run directory, or a directory of runs, or a history: JSON lines or one document, also gzipped.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="The whole judgement as JSON.")] = False,
    claims: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Judge these promises as claimed, instead of the claims of the run or file."),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON file with the limits that the system must keep.")
    ] = None,
    witness: Annotated[
        str | None, typer.Option(metavar="TASK", help="Print the journey of this task, resource or user instead.")
    ] = None,
    history_format: Annotated[
        HistoryFormat, typer.Option("--format", help="`jepsen`: operations of an old Jepsen run, in JSON or EDN.")
    ] = HistoryFormat.TASKLAB,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Judge by this model instead: lock, status (linearizability of leases, of status reads). With --format jepsen: register, "
            "cas-register, mutex (linearizability), total-queue, queue, set, set-full, unique-ids; if not stated, the model that "
            "fits the operations.",
        ),
    ] = None,
    time_limit_s: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0,
            help=f"With --model: linearizability is unknown after this time; {TIME_LIMIT_S:g} if not stated.",
        ),
    ] = None,
    unsorted: Annotated[
        bool, typer.Option("--unsorted", help="A history from elsewhere, in which the time of an actor may go back.")
    ] = False,
    cases: Annotated[
        bool, typer.Option("--cases", help="FILE holds judged cases: print the cases whose verdicts differ.")
    ] = False,
) -> None:
    """Judge a history by the current rules: every promise, the account, every repeat by its cause.

    A run directory is judged by the claims of its system, and its verdicts.json is rewritten if possible. In a directory of
    several runs each is judged and has a row (--json: a list of `runs`). A history without claims is judged on the promises that it
    puts to the test. Exit code 0: all claimed promises held (--cases: no difference); 1: one is broken
    (a case differs); 2: wrong usage; 3: unknown.
    """
    stated = {
        "--claims": claims,
        "--policy": policy,
        "--witness": witness,
        "--model": model,
        "--time-limit": time_limit_s,
        "--unsorted": unsorted or None,
    }
    from scenarios.stored.judge_files import JudgeOptions

    limit_s = TIME_LIMIT_S if time_limit_s is None else time_limit_s
    with explained():
        if cases:
            _refuse("--cases", stated)
            code = _check_cases(path, history_format, as_json)
        elif history_format is HistoryFormat.JEPSEN:
            _refuse("--format jepsen", stated, allowed={"--model", "--time-limit"})
            code = _check_jepsen(path, model, limit_s, as_json)
        elif model is not None:
            _refuse("--model", stated, allowed={"--model", "--time-limit"})
            code = _check_objects(path, model, limit_s, as_json)
        else:
            _refuse("a judgement of all promises", stated, allowed={"--claims", "--policy", "--witness", "--unsorted"})
            keep = () if witness is None else (witness,)
            options = JudgeOptions(_claims(claims), _policy(policy), keep, is_sorted=not unsorted)
            code = _check(path, options, witness, as_json)
    raise typer.Exit(code)


def _refuse(chosen: str, stated: Mapping[str, object], *, allowed: Collection[str] = ()) -> None:
    """Raise if an option was given that has no effect with the chosen one."""
    from scenarios.errors import WrongUsage

    idle = [name for name, value in stated.items() if value is not None and name not in allowed]
    if idle:
        raise WrongUsage(f"{chosen} cannot be combined with {' and '.join(idle)}")


# Imports are within the functions: `tasklab --help` should not wait for decoders.


def _check(path: Path, options: "JudgeOptions", witness: str | None, as_json: bool) -> int:
    from scenarios.stored.judge_files import judge_path
    from tasklab.checking.runs import check_runs
    from tasklab.presentation.judgement import print_journey, print_judged

    runs = _runs_at(path)
    if len(runs) > 1 and witness is None:
        return check_runs(runs, options, as_json=as_json)
    judged = judge_path(_the_only(runs, path), options)
    if judged.not_written:
        warn(f"{judged.not_written}; the verdicts are printed all the same")
    if witness is not None:
        print_journey(judged, witness, as_json=as_json)
    elif as_json:
        print_json(judged.judgement.to_json())
    else:
        print_judged(judged)
        _print_notes(judged.source)
    return judged.judgement.exit_code


def _print_notes(source: Path) -> None:
    """What a run directory says beside its history; a history alone says no more."""
    from scenarios.stored.rundir import RUN_FILE, RunDirectory
    from tasklab.presentation.run_notes import print_notes

    if (source / RUN_FILE).is_file():
        run = RunDirectory(source)
        print_notes(run.read_facts().deaths, run.read_open_tasks())


def _runs_at(path: Path) -> tuple[Path, ...]:
    """The runs in a directory that is not itself a run; otherwise the path alone."""
    from reports.reading import find_runs
    from scenarios.stored.rundir import RUN_FILE, runs_without_facts

    is_place = path.is_dir() and not (path / RUN_FILE).exists()
    if not is_place:
        return (path,)
    damaged = runs_without_facts(path)
    return tuple(sorted({*damaged, *(find_runs([path]) if not damaged or any(path.rglob(RUN_FILE)) else ())}))


def _the_only(runs: Sequence[Path], path: Path) -> Path:
    from scenarios.errors import WrongUsage

    if len(runs) > 1:
        raise WrongUsage(f"{path} holds {len(runs)} runs; name one of them: {runs[0]}, …")
    return runs[0]


def _check_objects(path: Path, model: str, time_limit_s: float, as_json: bool) -> int:
    from scenarios.errors import NothingToJudge
    from scenarios.judging.linearizability.objects import OBJECTS
    from scenarios.stored.judge_files import judge_path
    from tasklab.checking.objects import check_objects

    if model not in OBJECTS:
        raise NothingToJudge(
            f"there is no model {model!r} of a history of tasks; the models are {' and '.join(OBJECTS)}"
        )
    return check_objects(judge_path(_the_only(_runs_at(path), path)), model, time_limit_s=time_limit_s, as_json=as_json)


def _check_jepsen(path: Path, model: str | None, time_limit_s: float, as_json: bool) -> int:
    from tasklab.checking.jepsen import check_jepsen

    return check_jepsen(path, model=model, time_limit_s=time_limit_s, as_json=as_json)


def _claims(names: str | None) -> "frozenset[Guarantee] | None":
    from scenarios.errors import WrongUsage
    from scenarios.stored.judge_files import claims_from

    if names is None:
        return None
    stated = claims_from(name.strip() for name in names.split(",") if name.strip())
    if not stated:
        raise WrongUsage("--claims names no promise; `tasklab list guarantees` lists them")
    return stated


def _policy(file: Path | None) -> "Policy | None":
    import msgspec

    from scenarios.errors import NothingToJudge
    from scenarios.judging.policy import policy_from
    from scenarios.stored.reading import read_document

    if file is None:
        return None
    try:
        return policy_from(msgspec.json.decode(read_document(file)))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NothingToJudge(f"{file} holds no policy: {error}") from error


def _check_cases(file: Path, history_format: HistoryFormat, as_json: bool) -> int:
    import msgspec

    from scenarios.stored.judge_files import differences, read_cases
    from tasklab.checking.jepsen import check_jepsen_cases

    if history_format is HistoryFormat.JEPSEN:
        return check_jepsen_cases(file, as_json=as_json)
    judged = read_cases(file)
    found = differences(judged)
    if as_json:
        print_json({"cases": len(judged), "differences": msgspec.to_builtins(found)})
    else:
        for one in found:
            line = f"{one.case}: {one.promise}: expected {dict(one.expected)}, is {dict(one.actual)} ({one.reason})"
            typer.echo(harmless(line))
        typer.echo(f"{len(judged)} cases, {len(found)} differences")
    return EXIT_BROKEN if found else EXIT_HELD

"""From files to a judgement: a run directory judged again, a foreign history, a file of judged cases."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from scenarios.errors import MalformedPolicy, NothingToJudge, UnknownName
from scenarios.judging.assumptions import spares_record, told_by_the_wrong_source, violated_assumptions_of_run
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import Judgement, judge
from scenarios.judging.policy import NO_POLICY, Policy, policy_from
from scenarios.judging.premises import unmet_premises
from scenarios.judging.unremarkable import NONE, Unremarkable
from scenarios.record.history import History, Recorded
from scenarios.stored.reading import (
    DAMAGED,
    Document,
    is_large,
    is_lines,
    read_document,
    read_files,
    read_foreign,
    reading_of,
)
from scenarios.stored.rundir import RUN_FILE, VERDICTS_FILE, RunDirectory


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement with the history it is of and the policy it was judged by; `source` is the path as a person wrote it.

    `unremarkable`: the tasks of a large history that were only counted, and whose events `recorded` lacks.
    """

    source: Path
    recorded: Recorded
    judgement: Judgement
    policy: Policy
    unremarkable: Unremarkable = NONE
    not_written: str = ""
    """Why verdicts.json of the run could not be written."""


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """What to judge a history by. What is None is taken from the run or the file; `keep`: tasks whose journeys will be asked for.

    `is_sorted` False: in a history from elsewhere the time of an actor may go back.
    """

    claims: frozenset[Guarantee] | None = None
    policy: Policy | None = None
    keep: tuple[str, ...] = ()
    is_sorted: bool = True


AS_STATED = JudgeOptions()


@dataclass(frozen=True, slots=True)
class Objections:
    """Why nothing in a record is held, a sentence each: `violated` assumptions, and premises that are `unmet`."""

    violated: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


Objecting = Callable[[Recorded], Objections]
"""Finds the objections to a record."""


def no_objections(recorded: Recorded) -> Objections:
    """A foreign history is judged as it is."""
    return Objections()


def judge_path(path: Path, options: JudgeOptions = AS_STATED) -> Judged:
    """Judge a run directory (and write its verdicts.json, if it can be written) or a history file.

    Raises:
        NothingToJudge: neither a run nor a file that can be read.
        UnknownName: the file claims a promise that does not exist.
        MalformedPolicy: the stated policy is none.
    """
    if path.is_dir():
        directory = RunDirectory(path)
        judged = _judge_run(directory, options)
        try:
            directory.write_verdicts(judged.judgement.to_record())
        except OSError as error:
            why = f"{path / VERDICTS_FILE} cannot be written: {error.strerror or error}"
            return replace(judged, not_written=why)
        return judged
    if path.exists() and not path.is_file():
        raise NothingToJudge(f"{path} is neither a directory nor a regular file")
    try:
        if is_large([path]) and is_lines(path):
            return _judge_large(path, [path], options, options.policy or NO_POLICY, ())
        reading = read_foreign(path, is_sorted=options.is_sorted)
    except OSError as error:
        raise NothingToJudge(f"{path} cannot be read: {error.strerror or error}") from error
    stated = None if reading.claims is None else claims_from(reading.claims)
    policy = policy_from(reading.policy) if options.policy is None else options.policy
    return _judge(path, reading.recorded, options.claims or stated, policy, ())


def judge_run(directory: RunDirectory) -> Judgement:
    """Judge a stored run by what it says of itself, and write its verdicts.json; raises as `judge_path` does.

    Raises:
        OSError: verdicts.json cannot be written.
    """
    judgement = _judge_run(directory, AS_STATED).judgement
    directory.write_verdicts(judgement.to_record())
    return judgement


def _judge_run(directory: RunDirectory, options: JudgeOptions) -> Judged:
    try:
        facts = directory.read_facts()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NothingToJudge(f"{directory.path} holds no run: {RUN_FILE} is missing or damaged") from error
    problems = [*facts.problems, *([] if facts.finished else ["the run did not come to its end"])]
    stated = JudgeOptions(
        claims_from(facts.claims) if options.claims is None else options.claims,
        policy_from(facts.policy) if options.policy is None else options.policy,
        options.keep,
    )
    assert stated.policy is not None
    files = directory.history_files()

    def objections(recorded: Recorded) -> Objections:
        """None where the lab itself reports that the run failed: that is reason enough."""
        if problems:
            return Objections()
        wrong = told_by_the_wrong_source(recorded.foreign_words)
        violated = [*wrong, *violated_assumptions_of_run(facts, recorded.history, directory.history_sizes())]
        unmet = unmet_premises(recorded.history, facts)
        if facts.work is not None and not facts.work.submitted:  # without any task every fault strikes an idle system
            violated = [sentence for sentence in violated if not spares_record(sentence)]
        return Objections(tuple(violated), tuple(unmet))

    if is_large(files):
        return _judge_large(directory.path, files, stated, stated.policy, problems, objections)
    return _judge(
        directory.path, directory.read_history(), stated.claims, stated.policy, problems, objections=objections
    )


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Pause the garbage collector: events and timelines have no cycles, and the search for them would take a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_collector_at_rest()
def _judge_large(
    source: Path,
    files: Sequence[Path],
    options: JudgeOptions,
    policy: Policy,
    problems: Sequence[str],
    objections: Objecting = no_objections,
) -> Judged:
    import duckdb  # slow to import, and only for large histories

    from scenarios.stored.large.prefilter import ScanFailed, prefilter

    try:
        prefiltered = prefilter(files, policy, keep=options.keep, is_sorted=options.is_sorted)
    except (duckdb.OutOfMemoryException, ScanFailed) as error:  # reading it whole would take more memory still
        why = f"the history is too large for the memory that is there: {str(error).splitlines()[0]}"
        nothing = Recorded(History([]), sources=tuple(file.name for file in files))
        return _judge(source, nothing, options.claims, policy, [*problems, why])
    except (duckdb.Error, *DAMAGED):  # read whole, the history says itself, by file and line, what cannot be read
        return _judge(
            source,
            read_files(files, is_sorted=options.is_sorted),
            options.claims,
            policy,
            problems,
            objections=objections,
        )
    return _judge(source, prefiltered.recorded, options.claims, policy, problems, prefiltered.unremarkable, objections)


def _judge(
    source: Path,
    recorded: Recorded,
    claims: frozenset[Guarantee] | None,
    policy: Policy,
    problems: Sequence[str],
    unremarkable: Unremarkable = NONE,
    objections: Objecting = no_objections,
) -> Judged:
    found = objections(recorded)
    judgement = judge(
        recorded,
        claims=claims,
        policy=policy,
        problems=problems,
        violated=found.violated,
        unmet=found.unmet,
        unremarkable=unremarkable,
    )
    return Judged(source, recorded, judgement, policy, unremarkable)


def claims_from(names: Iterable[str]) -> frozenset[Guarantee]:
    """The promises of these names; raises `UnknownName` with the nearest ones."""
    known = {guarantee.value: guarantee for guarantee in Guarantee}
    claims = set()
    for name in names:
        if name not in known:
            raise UnknownName("promise", name, known)
        claims.add(known[name])
    return frozenset(claims)


@dataclass(frozen=True, slots=True)
class Difference:
    """A judged case that comes out otherwise than expected."""

    case: str
    promise: str
    expected: Mapping[str, Any]
    actual: Mapping[str, Any]
    reason: str


class Case(msgspec.Struct, frozen=True):
    """One history with the verdicts expected of it."""

    id: str
    events: list[msgspec.Raw]
    expect: dict[str, dict[str, Any]]
    policy: dict[str, object] = {}
    claims: list[str] = []


def read_cases(file: Path) -> list[Case]:
    """The judged cases of a file: a JSON list, or an object that holds it as `cases`; raises `NothingToJudge`."""
    try:
        content = msgspec.json.decode(read_document(file))
        if isinstance(content, dict):
            content = content.get("cases")
        return msgspec.json.decode(msgspec.json.encode(content), type=list[Case])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NothingToJudge(f"{file} holds no judged cases: {error}") from error


def differences(cases: Sequence[Case]) -> list[Difference]:
    """Those expectations that a case does not meet; only what an expectation states is compared.

    Raises:
        UnknownName: a case names a promise that does not exist.
        MalformedPolicy: a case states a policy that is none.
    """
    found = []
    for case in cases:
        recorded = reading_of(Document(case.events), case.id).recorded
        claims = claims_from([*case.claims, *case.expect])
        try:
            policy = policy_from(case.policy)
        except MalformedPolicy as error:
            raise MalformedPolicy(f"case {case.id}: {error}") from error
        verdicts = judge(recorded, claims=claims, policy=policy).to_json()["verdicts"]
        for promise, expected in case.expect.items():
            said = verdicts[promise]
            actual = {name: said.get(name) for name in expected}
            if actual != expected:
                found.append(Difference(case.id, promise, expected, actual, said["reason"]))
    return found

"""Judges files: a run directory, a foreign history, a file of judged cases."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from scenarios.errors import MalformedPolicy, NothingToJudge, UnknownName
from scenarios.judging.assumptions import events_of_the_wrong_source, leaves_record_intact, violated_assumptions_of_run
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import Judgement, judge
from scenarios.judging.policy import NO_POLICY, Policy, policy_from
from scenarios.judging.premises import unmet_premises
from scenarios.judging.unremarkable import NONE, Unremarkable
from scenarios.record.history import History, Recorded
from scenarios.record.run_facts import RunFacts
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
    """A history with its judgement and the policy used; `source`: the path as the user wrote it.

    `unremarkable`: the tasks of a large history that were only counted; `recorded` does not hold their events.
    """

    source: Path
    recorded: Recorded
    judgement: Judgement
    policy: Policy
    unremarkable: Unremarkable = NONE
    not_written: str = ""
    """Why verdicts.json of the run could not be written; empty if it was."""
    facts: RunFacts | None = None
    """Of a run of the lab."""


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """How to judge a history. A value of None is taken from the run or the file; `keep`: tasks whose journeys will be needed.

    `is_sorted` False: in a foreign history the time of an actor may go back.
    """

    claims: frozenset[Guarantee] | None = None
    policy: Policy | None = None
    keep: tuple[str, ...] = ()
    is_sorted: bool = True


AS_STATED = JudgeOptions()


@dataclass(frozen=True, slots=True)
class Objections:
    """Why no promise is held in this record, one sentence each: `violated` assumptions and `unmet` premises."""

    violated: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


FindObjections = Callable[[Recorded], Objections]


def no_objections(recorded: Recorded) -> Objections:
    """For a foreign history, which states no assumptions or premises."""
    return Objections()


def judge_path(path: Path, options: JudgeOptions = AS_STATED) -> Judged:
    """Judge a run directory (and write its verdicts.json, if possible) or a history file.

    Raises:
        NothingToJudge: neither a run nor a readable file.
        UnknownName: the file claims a promise that does not exist.
        MalformedPolicy: the stated policy is invalid.
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
    """Judge a stored run by its own claims and policy, and write its verdicts.json; raises as `judge_path` does.

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
        """Only forgeries if the lab reported problems: these already make every promise unknown, but events still prove violations."""
        wrong = tuple(events_of_the_wrong_source(recorded.foreign_events))
        if problems:
            return Objections(wrong)
        violated = [*wrong, *violated_assumptions_of_run(facts, recorded.history, directory.history_sizes())]
        unmet = unmet_premises(recorded.history, facts)
        if unmet and is_large(files):  # what unremarkable tasks did is not in this history: they may meet them
            unmet = unmet_premises(directory.read_history().history, facts)
        if facts.work is not None and not facts.work.submitted:  # without tasks every fault hits an idle system
            violated = [sentence for sentence in violated if not leaves_record_intact(sentence)]
        return Objections(tuple(violated), tuple(unmet))

    if is_large(files):
        judged = _judge_large(directory.path, files, stated, stated.policy, problems, objections)
    else:
        recorded = directory.read_history()
        judged = _judge(directory.path, recorded, stated.claims, stated.policy, problems, objections=objections)
    return replace(judged, facts=facts)


@contextmanager
def _garbage_collector_off() -> Iterator[None]:
    """Pause the garbage collector: events and timelines have no cycles, and searching for cycles would take a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_garbage_collector_off()
def _judge_large(
    source: Path,
    files: Sequence[Path],
    options: JudgeOptions,
    policy: Policy,
    problems: Sequence[str],
    objections: FindObjections = no_objections,
) -> Judged:
    import duckdb  # slow to import, and only for large histories

    from scenarios.stored.large.prefilter import ScanFailed, prefilter

    try:
        prefiltered = prefilter(files, policy, keep=options.keep, is_sorted=options.is_sorted)
    except (duckdb.OutOfMemoryException, ScanFailed) as error:  # reading it whole would take even more memory
        why = f"the history is too large for the available memory: {str(error).splitlines()[0]}"
        nothing = Recorded(History([]), sources=tuple(file.name for file in files))
        return _judge(source, nothing, options.claims, policy, [*problems, why])
    except (duckdb.Error, *DAMAGED):  # reading it whole reports each malformed line by file and number
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
    objections: FindObjections = no_objections,
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
    """The promises with these names; raises `UnknownName` with the most similar ones."""
    known = {guarantee.value: guarantee for guarantee in Guarantee}
    claims = set()
    for name in names:
        if name not in known:
            raise UnknownName("promise", name, known)
        claims.add(known[name])
    return frozenset(claims)


@dataclass(frozen=True, slots=True)
class Difference:
    """A judged case whose verdict on one promise is not the expected one."""

    case: str
    promise: str
    expected: Mapping[str, Any]
    actual: Mapping[str, Any]
    reason: str


class Case(msgspec.Struct, frozen=True):
    """One history with its expected verdicts."""

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
    """The expectations that are not met; only the fields that an expectation states are compared.

    Raises:
        UnknownName: a case names a promise that does not exist.
        MalformedPolicy: a case states an invalid policy.
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
            verdict = verdicts[promise]
            actual = {name: verdict.get(name) for name in expected}
            if actual != expected:
                found.append(Difference(case.id, promise, expected, actual, verdict["reason"]))
    return found

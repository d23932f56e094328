"""From files to a judgement: a run directory judged again, a foreign history, a file of judged cases."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from scenarios.errors import ScenarioError, UnknownName
from scenarios.guarantees import Guarantee
from scenarios.history import Recorded
from scenarios.judge import Judgement, judge
from scenarios.policy import MalformedPolicy, Policy, policy_from
from scenarios.reading import Document, read_foreign, reading_of
from scenarios.rundir import RUN_FILE, RunDirectory


class NothingToJudge(ScenarioError):
    """The path holds no run, no history or no cases (wrong usage)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement with the history it is of; `source` is the path as a person wrote it."""

    source: Path
    recorded: Recorded
    judgement: Judgement


def judge_path(path: Path, *, claims: Iterable[Guarantee] | None = None, policy: Policy | None = None) -> Judged:
    """Judge a run directory (and write its verdicts.json) or a history file; what is not given is taken from the run or the file.

    Raises:
        NothingToJudge: neither a run nor a file that can be read.
        UnknownName: the file claims a promise that does not exist.
        MalformedPolicy: the stated policy is none.
    """
    if path.is_dir():
        return _judge_run(RunDirectory(path), claims, policy)
    try:
        reading = read_foreign(path)
    except OSError as error:
        raise NothingToJudge(f"{path} cannot be read: {error.strerror or error}") from error
    if policy is None:
        policy = policy_from(reading.policy)
    if claims is None and reading.claims is not None:
        claims = claims_from(reading.claims)
    if claims is None:
        claims = exercised(reading.recorded, policy)
    return Judged(path, reading.recorded, judge(reading.recorded, claims=claims, policy=policy))


def judge_run(directory: RunDirectory) -> Judgement:
    """Judge a stored run by what it says of itself, and write its verdicts.json; raises as `judge_path` does."""
    return _judge_run(directory, None, None).judgement


def _judge_run(directory: RunDirectory, claims: Iterable[Guarantee] | None, policy: Policy | None) -> Judged:
    try:
        facts = directory.read_facts()
    except (OSError, msgspec.DecodeError) as error:
        raise NothingToJudge(f"{directory.path} holds no run: {RUN_FILE} is missing or damaged") from error
    recorded = directory.read_history()
    cut_short = [] if facts.finished else ["the run did not come to its end"]
    judgement = judge(
        recorded,
        claims=claims_from(facts.claims) if claims is None else claims,
        policy=policy_from(facts.policy) if policy is None else policy,
        problems=[*facts.problems, *cut_short],
    )
    directory.write_verdicts(judgement.to_json())
    return Judged(directory.path, recorded, judgement)


def claims_from(names: Iterable[str]) -> frozenset[Guarantee]:
    """The promises of these names; raises `UnknownName` with the nearest ones."""
    known = {guarantee.value: guarantee for guarantee in Guarantee}
    claims = set()
    for name in names:
        if name not in known:
            raise UnknownName("promise", name, difflib.get_close_matches(name, known, n=3))
        claims.add(known[name])
    return frozenset(claims)


def exercised(recorded: Recorded, policy: Policy) -> frozenset[Guarantee]:
    """What a history that claims nothing is judged on: the promises that it puts to the test; all, where it does none."""
    judgement = judge(recorded, claims=(), policy=policy)
    put_to_test = frozenset(verdict.guarantee for verdict in judgement.not_claimed if verdict.exercised)
    return put_to_test or frozenset(Guarantee)


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
        content = msgspec.json.decode(file.read_bytes())
        if isinstance(content, dict):
            content = content.get("cases")
        return msgspec.json.decode(msgspec.json.encode(content), type=list[Case])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
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
        assert isinstance(verdicts, dict)
        for promise, expected in case.expect.items():
            said = verdicts[promise]
            actual = {name: said.get(name) for name in expected}
            if actual != expected:
                found.append(Difference(case.id, promise, expected, actual, said["reason"]))
    return found

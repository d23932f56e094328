"""Two engines, one meaning: a prefiltered history gets the judgement that the whole one gets, to the last figure."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import NO_POLICY, ErrorKind, Policy, policy_from
from scenarios.judging.verdict import Ruling
from scenarios.record.events import Event
from scenarios.stored.large.prefilter import prefilter
from scenarios.stored.reading import read_files
from tests.anomalies import AUDITED_KINDS, KINDS, planted
from tests.examples import examples
from tests.histories import events
from tests.history_drafts import Draft
from tests.history_files import write_by_actor
from tests.history_strategies import Life, legal_drafts, live

KIND = st.sampled_from([None, *KINDS])


@examples(100)
@given(
    legal_drafts(),
    KIND,
    st.integers(0, 100),
    st.sampled_from(["all", "no final", "no lists", "not drained", "no ends"]),
)
def test_a_sieved_history_is_judged_as_the_whole_one(draft: Draft, kind, at_s: int, record: str) -> None:  # type: ignore[no-untyped-def]
    if kind is not None:
        draft, _ = planted(draft, kind, at_s)

    _assert_engines_agree(draft.policy, as_recorded(draft.all_events(), record))


@examples(30)
@given(legal_drafts(st.just(True)), st.sampled_from(AUDITED_KINDS), st.integers(0, 100))
def test_a_sieved_audit_trail_is_judged_as_the_whole_one(draft: Draft, kind, at_s: int) -> None:  # type: ignore[no-untyped-def]
    draft, _ = planted(draft, kind, at_s)

    _assert_engines_agree(draft.policy, draft.all_events())


@examples(30)
@given(legal_drafts(), KIND, st.integers(0, 100), st.sets(st.sampled_from(get_args(ErrorKind))), st.floats(0, 3))
def test_a_sieved_history_is_judged_alike_by_the_words_of_a_policy(  # type: ignore[no-untyped-def]
    draft: Draft, kind, at_s: int, errors: set[ErrorKind], lease_s: float
) -> None:
    if kind is not None:
        draft, _ = planted(draft, kind, at_s)
    policy = replace(draft.policy, permanent_errors=tuple(errors), lease_owner="broker", lease_s=lease_s)

    _assert_engines_agree(policy, draft.all_events())


def as_recorded(events: list[Event], record: str) -> list[Event]:
    """The same run, recorded less completely."""
    match record:
        case "no final":
            return [event for event in events if event.event != "final"]
        case "no ends":
            return [event for event in events if event.event not in ("attempt.ok", "attempt.fail")]
        case "no lists":
            nothing = dict.fromkeys(("done", "dead", "cancelled", "expired", "pending"))
            return [msgspec.structs.replace(event, **nothing) if event.event == "final" else event for event in events]
        case "not drained":
            return [
                msgspec.structs.replace(event, caught_up=False) if event.event == "final" else event for event in events
            ]
    return events


def _assert_engines_agree(policy: Policy, events: list[Event]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        files = write_by_actor(events, Path(directory))

        whole = judge(read_files(files), claims=Guarantee, policy=policy)
        prefiltered = prefilter(files, policy, parts_min=3)
        parts = judge(prefiltered.recorded, claims=Guarantee, policy=policy, unremarkable=prefiltered.unremarkable)

    assert parts.to_json() == whole.to_json()


IDLE_CRASH = """
0     c   submit.invoke A
0.01  c   submit.ok A
0.02  c   submit.invoke B
0.03  c   submit.ok B
0.5   w2  attempt.start B attempt=1
0.7   w2  effect B attempt=1
0.8   w2  attempt.ok B attempt=1
1     w1  attempt.start A attempt=1
2     w1  attempt.fail A attempt=1 error=transient
3     w2  crash -
8     w1  attempt.start A attempt=2
8.5   w1  effect A attempt=2
9     w1  attempt.ok A attempt=2
20    lab final done=A,B
"""
"""A worker that ran unremarkable tasks only crashes, and so delays the retry of another."""
KNOWN_ACK = """
0     c   submit.invoke A
0.01  c   submit.ok A
0.02  c   submit.invoke B
0.03  c   submit.ok B
0.5   w1  attempt.start A attempt=1
1     lab fault.begin - fault=ack_swallowed target=broker
1     w2  attempt.start B attempt=1
1.05  w2  effect B attempt=1
1.1   w2  attempt.ok B attempt=1
1.2   lab fault.bit - fault=ack_swallowed target=broker
1.2   w2  ack.info B attempt=1
1.25  w1  effect A attempt=1
1.3   w1  attempt.ok A attempt=1
1.5   lab fault.healed - fault=ack_swallowed target=broker
3     w1  attempt.start A attempt=2
4     w1  attempt.ok A attempt=2
20    lab final done=A,B
"""
"""The message that a fault hit is that of an unremarkable task: so it excuses the repeat of no other."""
NAMED_LEASE = """
0     c   submit.invoke A
0.01  c   submit.ok A
0.9   w1  lease.acquired - resource=task:A fence=1 ttl_s=1
1     w1  attempt.start A attempt=1
7.9   w1  effect A attempt=1
8     w1  attempt.ok A attempt=1
20    lab final done=A
"""
"""The lease on an unremarkable task has the name of a task."""


READ_WITHOUT_LISTS = """
0     c   submit.invoke A
0.01  c   submit.ok A
1     w1  attempt.start A attempt=1
1.1   w1  attempt.ok A attempt=1
2     c   status A state=SUCCEEDED
2     c   submit.invoke B
2.01  c   submit.ok B
3     w1  attempt.start B attempt=1
3.1   w1  attempt.ok B attempt=1
20    lab final
"""
"""The system lists nothing, and a client reads the end of one of two tasks."""


@pytest.mark.parametrize(
    ("lines", "policy", "broken"),
    [
        (READ_WITHOUT_LISTS, {}, set()),
        (IDLE_CRASH, {"delays_s": [[1, 2]], "tolerance_s": 0.5, "budget_s": 10, "attempts_max": 3}, set()),
        (KNOWN_ACK, {}, {Guarantee.DUPLICATES_EXPLAINED}),
        (NAMED_LEASE, {"renew_s": 4}, {Guarantee.LEASE_KEPT}),
    ],
    ids=[
        "a read without lists",
        "crash of an idle worker",
        "ack of an unremarkable task",
        "lease under the name of a task",
    ],
)
def test_what_unremarkable_tasks_tell_of_others_is_not_lost(
    lines: str, policy: dict[str, object], broken: set[Guarantee], tmp_path: Path
) -> None:
    files = write_by_actor(events(lines), tmp_path)
    limits = policy_from(policy)

    whole = judge(read_files(files), claims=Guarantee, policy=limits)
    reduced = prefilter(files, limits)
    parts = judge(reduced.recorded, claims=Guarantee, policy=limits, unremarkable=reduced.unremarkable)

    relevant = {Guarantee.RETRY_SCHEDULE, Guarantee.DUPLICATES_EXPLAINED, Guarantee.LEASE_KEPT}
    assert {one.guarantee for one in whole.verdicts if one.ruling is Ruling.BROKEN} & relevant == broken
    assert parts.to_json() == whole.to_json()


LIFE = """{"t_s":0,"actor":"c","event":"submit.invoke","task":"A"%s}
{"t_s":0.1,"actor":"c","event":"submit.ok","task":"A"}
{"t_s":1,"actor":"w","event":"attempt.start","task":"A","attempt":1}
%s{"t_s":2,"actor":"w","event":"attempt.ok","task":"A","attempt":1}
{"t_s":9,"actor":"lab","event":"final","healed":true,"caught_up":true,"done":["A"]}
"""


def _effects(*steps: str) -> str:
    return "".join(
        f'{{"t_s":1.{number},"actor":"w","event":"effect","task":"A"{step}}}\n' for number, step in enumerate(steps)
    )


@pytest.mark.parametrize(
    ("stated", "steps", "broken"),
    [
        ("", ("", ',"step":1'), {Guarantee.EXACTLY_ONE_EFFECT, Guarantee.EFFECT_AT_MOST_ONCE}),
        ("", (',"step":"1"', ',"step":1'), {Guarantee.EXACTLY_ONE_EFFECT, Guarantee.EFFECT_AT_MOST_ONCE}),
        ("", ("", ',"step":2'), set()),
        (',"steps":2', ("", ',"step":2'), set()),
        (',"steps":1', ("", ',"step":2'), {Guarantee.NO_PHANTOM_TASK}),
        (',"steps":2', (',"step":0', ',"step":2'), {Guarantee.NO_PHANTOM_TASK}),
        (',"steps":2', (',"step":"x"', ',"step":2'), {Guarantee.NO_PHANTOM_TASK}),
        (',"steps":1', ("",), set()),
        (',"steps":0', ("",), {Guarantee.NO_PHANTOM_TASK}),
    ],
)
def test_a_step_is_the_same_however_it_is_written(
    stated: str, steps: tuple[str, ...], broken: set[Guarantee], tmp_path: Path
) -> None:
    """By both engines: a step that is left out is the first."""
    file = tmp_path / "history.jsonl"
    file.write_text(LIFE % (stated, _effects(*steps)))

    whole = judge(read_files([file]), claims=Guarantee, policy=NO_POLICY)
    prefiltered = prefilter([file], NO_POLICY)
    parts = judge(prefiltered.recorded, claims=Guarantee, policy=NO_POLICY, unremarkable=prefiltered.unremarkable)

    assert {verdict.guarantee for verdict in whole.verdicts if verdict.ruling is Ruling.BROKEN} == broken
    assert parts.to_json() == whole.to_json()


def test_tasks_that_ran_once_and_succeeded_are_counted_and_not_looked_at(tmp_path: Path) -> None:
    draft = Draft(audited=True, leased=True)
    extras = frozenset({"deadline", "status", "two_steps"})
    for number in range(20):
        live(draft, f"task-{number}", Life("done", (), extras, number))
    live(draft, "retried", Life("done", ("transient",), extras, 30))
    live(draft, "resubmitted", Life("done", (), extras | {"key"}, 40))
    files = write_by_actor(draft.all_events(), tmp_path)

    prefiltered = prefilter(files, draft.policy)

    assert prefiltered.unremarkable.tasks == 20
    assert sorted(prefiltered.recorded.history.tasks) == ["resubmitted", "resubmitted-again", "retried"]

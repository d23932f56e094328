"""Two engines, one meaning: a prefiltered history gets the judgement that the whole one gets, to the last figure."""

import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import NO_POLICY
from scenarios.judging.verdict import Ruling
from scenarios.record.events import Event
from scenarios.stored.large.prefilter import prefilter
from scenarios.stored.reading import read_files
from tests.anomalies import AUDITED_KINDS, KINDS, planted
from tests.examples import examples
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

    _assert_engines_agree(draft, as_recorded(draft.all_events(), record))


@examples(30)
@given(legal_drafts(st.just(True)), st.sampled_from(AUDITED_KINDS), st.integers(0, 100))
def test_a_sieved_audit_trail_is_judged_as_the_whole_one(draft: Draft, kind, at_s: int) -> None:  # type: ignore[no-untyped-def]
    draft, _ = planted(draft, kind, at_s)

    _assert_engines_agree(draft, draft.all_events())


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


def _assert_engines_agree(draft: Draft, events: list[Event]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        files = write_by_actor(events, Path(directory))

        whole = judge(read_files(files), claims=Guarantee, policy=draft.policy)
        prefiltered = prefilter(files, draft.policy, parts_min=3)
        parts = judge(
            prefiltered.recorded, claims=Guarantee, policy=draft.policy, unremarkable=prefiltered.unremarkable
        )

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

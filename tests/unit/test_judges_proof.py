"""Every judge is proven: legal histories are held, and one planted anomaly breaks exactly its promise, with exactly its witnesses."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.verdict import Ruling
from tests.anomalies import AUDITED_KINDS, KINDS, Plant, planted
from tests.examples import examples
from tests.history_drafts import Draft
from tests.history_strategies import legal_drafts

THOROUGHLY = examples(200)


@THOROUGHLY
@given(legal_drafts())
def test_a_legal_history_holds_every_promise(draft: Draft) -> None:
    judgement = judge(draft.recorded(), claims=Guarantee, policy=draft.policy)

    assert {verdict.guarantee: verdict.reason for verdict in judgement.verdicts if verdict.ruling != Ruling.HELD} == {}
    assert judgement.reconciliation.balanced
    assert judgement.exit_code == 0


@THOROUGHLY
@given(legal_drafts(), st.integers(0, 100))
def test_each_planted_anomaly_breaks_exactly_its_promises_with_exactly_its_witnesses(draft: Draft, at_s: int) -> None:
    _plant_each(KINDS, draft, at_s)


@THOROUGHLY
@given(legal_drafts(st.just(True)), st.integers(0, 100))
def test_each_anomaly_planted_in_an_audit_trail_breaks_exactly_its_promises(draft: Draft, at_s: int) -> None:
    _plant_each(AUDITED_KINDS, draft, at_s)


def _plant_each(kinds: Sequence[Plant], draft: Draft, at_s: int) -> None:
    for plant in kinds:
        history, expected = planted(draft, plant, at_s)

        judgement = judge(history.recorded(), claims=Guarantee, policy=history.policy)

        broken = {one.guarantee: one.witnesses for one in judgement.verdicts if one.ruling == Ruling.BROKEN}
        unknown = {one.guarantee: one.reason for one in judgement.verdicts if one.ruling == Ruling.UNKNOWN}
        assert (plant.__name__, broken, unknown) == (plant.__name__, expected, {})


def test_every_promise_has_an_anomaly_that_breaks_it() -> None:
    broken = {guarantee for plant in (*AUDITED_KINDS, *KINDS) for guarantee in plant(Draft(audited=True), 0)}

    assert broken == set(Guarantee)

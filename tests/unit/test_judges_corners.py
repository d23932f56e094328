"""The corners that the rules leave open, each decided in docs/history.md; the cases are rows of tests/cases/*.txt."""

from collections.abc import Iterable

import pytest

from scenarios.judging.checkers import CHECKERS
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import NO_POLICY, Policy
from scenarios.judging.verdict import Ruling
from scenarios.record.history import History, Recorded
from tests.case_tables import Case, cases_in
from tests.histories import history


def verdict(guarantee: Guarantee, seen: History, *, policy: Policy = NO_POLICY, problems: Iterable[str] = ()) -> str:
    """`held`, `unknown`, or `broken` with the witnesses."""
    (one,) = judge(Recorded(seen), claims=[guarantee], policy=policy, problems=tuple(problems)).verdicts
    return f"broken {','.join(one.witnesses)}" if one.ruling is Ruling.BROKEN else one.ruling.value


@pytest.mark.parametrize("case", cases_in("corners.txt"), ids=str)
def test_a_corner_is_judged_as_it_was_decided(case: Case) -> None:
    assert verdict(case.guarantee, case.history, policy=case.policy) == case.expected


@pytest.mark.parametrize("case", cases_in("exercised.txt"), ids=str)
def test_a_promise_is_exercised_only_by_what_could_break_it(case: Case) -> None:
    assert CHECKERS[case.guarantee](case.history, case.policy).exercised == int(case.expected)


def test_an_unknown_state_is_named_with_the_states_that_exist() -> None:
    (violation,) = CHECKERS[Guarantee.LEGAL_TRANSITIONS](history("0 d state A to=QUEUED"), NO_POLICY).violations

    assert violation.what.startswith("'QUEUED' is not a state of the life cycle; the states are ACCEPTED, ")


SUBMITTED = """
    0     client  submit.invoke  A
    0.01  client  submit.ok      A
"""
RAN = f"""{SUBMITTED}
    1     w1      attempt.start  A  attempt=1
    1.05  w1      effect         A  attempt=1
    1.1   w1      attempt.ok     A  attempt=1
"""
DONE = "100 lab final done=A"


def test_an_event_that_proves_a_break_stands_beside_a_problem_of_the_lab() -> None:
    twice = history(RAN, "2 w1 effect A", DONE)

    assert verdict(Guarantee.EFFECT_AT_MOST_ONCE, twice, problems=["redis did not start"]) == "broken A"


@pytest.mark.parametrize(
    ("guarantee", "seen"),
    [
        pytest.param(Guarantee.NO_PHANTOM_TASK, history("1 w effect Z", RAN, DONE), id="a submission that is missing"),
        pytest.param(Guarantee.NO_LOST_TASK, history(SUBMITTED, "100 lab final"), id="an end that is missing"),
        pytest.param(Guarantee.NO_LOST_TASK, history(RAN, DONE), id="nothing is missing"),
    ],
)
def test_with_a_problem_of_the_lab_nothing_is_proven_by_its_absence_and_nothing_is_held(
    guarantee: Guarantee, seen: History
) -> None:
    assert verdict(guarantee, seen, problems=["redis did not start"]) == "unknown"


UNBITTEN = "2 l fault.begin fault=k target=w"


def test_with_a_fault_that_did_not_bite_nothing_is_held() -> None:
    unbitten = history(RAN, UNBITTEN, "3 l fault.healed fault=k target=w", DONE)

    assert verdict(Guarantee.NO_LOST_TASK, unbitten) == "unknown"


def test_a_fault_that_did_not_bite_hides_nothing_that_is_proven() -> None:
    assert verdict(Guarantee.NO_PHANTOM_TASK, history("1 w effect Z", RAN, UNBITTEN, DONE)) == "broken Z"

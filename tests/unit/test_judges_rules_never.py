"""Never is later than any bound; what waits rightly is not stuck."""

# ruff: noqa: E501, N817 -- a case is a line, and reads as one

import pytest

from scenarios.judging.guarantees import Guarantee as G
from scenarios.judging.judge import judge
from scenarios.judging.policy import policy_from
from scenarios.record.history import Event, Recorded
from tests.unit.rule_cases import DONE, FAILED, OTHER, RAN, SUBMITTED, fault, final, history_of, verdict

NEVER = [
    pytest.param(G.DUE_IN_TIME, ("A",), ["0 c submit.invoke A due_s=5", "0 c submit.ok A due_s=5", "50 w crash -"], {"tolerance_s": 1}, id="due, and cut short without an account"),
    pytest.param(G.DUE_IN_TIME, "unknown", ["0 c submit.invoke A due_s=5", "0 c submit.ok A due_s=5", "6 w crash -"], {"tolerance_s": 1}, id="due, and its bound is the end of the record"),
    pytest.param(G.DUE_IN_TIME, "unknown", ["0 c submit.invoke A due_s=5", "0 c submit.info A due_s=5", "50 w crash -"], {"tolerance_s": 1}, id="it may never have been accepted"),
    pytest.param(G.DUE_IN_TIME, "held", ["0 c submit.invoke A due_s=5", "0 c submit.ok A due_s=5", *fault(4, None), *OTHER, final(pending=["A"], done=["K"])], {}, id="a fault that never healed"),
    pytest.param(G.DUE_IN_TIME, "held", ["0 c submit.invoke A due_s=5", "0 c submit.ok A due_s=5", "4 c cancel.ok A", *OTHER, final(cancelled=["A"], done=["K"])], {}, id="cancelled before it was due"),
    pytest.param(G.DUE_IN_TIME, ("A",), ["0 c submit.invoke A due_s=5", "0 c submit.ok A due_s=5", "40 c cancel.ok A", *OTHER, final(cancelled=["A"], done=["K"])], {}, id="cancelled long after it was due"),
    pytest.param(G.DUE_IN_TIME, "held", ["0 c submit.invoke A due_s=5", "0 c submit.ok A due_s=5", "4 c pause.ok -", *OTHER, final(pending=["A"], done=["K"])], {}, id="paused for ever"),
    pytest.param(G.DUE_IN_TIME, "held", ["0 c submit.invoke A due_s=5", "0 c submit.ok A due_s=5", "4 c pause.ok -", "30 c resume.ok -", "33 w attempt.start A", "34 w attempt.ok A", DONE], {"budget_s": 3}, id="paused, and started within the budget"),
    pytest.param(G.DUE_IN_TIME, ("A",), ["0 c submit.invoke A due_s=5", "0 c submit.ok A due_s=5", "4 c pause.ok -", "30 c resume.ok -", "33.1 w attempt.start A", "34 w attempt.ok A", DONE], {"budget_s": 3}, id="paused, and started after the budget"),
    pytest.param(G.RETRY_SCHEDULE, ("A",), [*FAILED, "50 w2 crash -"], {"delays_s": [[1, 5]]}, id="a retry that never comes, without an account"),
    pytest.param(G.RETRY_SCHEDULE, "held", [*FAILED, *OTHER, final(pending=["A"], done=["K"])], {"delays_s": [[1, 5]], "attempts_max": 1}, id="no retry is to come"),
    pytest.param(G.RETRY_SCHEDULE, "held", [*FAILED, *fault(2, 20), final(25, pending=["A"])], {"delays_s": [[1, 5]], "budget_s": 6}, id="a fault, and its budget is not over"),
    pytest.param(G.RETRY_SCHEDULE, ("A",), [*FAILED, *fault(2, 20), final(27, pending=["A"])], {"delays_s": [[1, 5]], "budget_s": 6}, id="a fault, and its budget is over"),
    pytest.param(G.RETRY_SCHEDULE, "held", [*FAILED, *OTHER, "3 c cancel.ok A", final(cancelled=["A"], done=["K"])], {"delays_s": [[1, 5]]}, id="cancelled before the retry was due"),
    pytest.param(G.RECOVERS_IN_TIME, "held", [*RAN, *fault(2, 3), final(1000, done=["A"])], {"budget_s": 5}, id="how long the lab waited proves nothing"),
    pytest.param(G.RECOVERS_IN_TIME, "held", [*fault(0.1, 3), "50 c submit.invoke A", "50 c submit.ok A", "54 w attempt.start A", "54.9 w attempt.ok A", DONE], {"budget_s": 5}, id="a later one counts from its own acknowledgement"),
    pytest.param(G.RECOVERS_IN_TIME, ("A",), [*fault(0.1, 3), "50 c submit.invoke A", "50 c submit.ok A", "54 w attempt.start A", "55.1 w attempt.ok A", DONE], {"budget_s": 5}, id="a later one that takes too long"),
    pytest.param(G.RECOVERS_IN_TIME, "held", [*SUBMITTED[:0], "0 c submit.invoke A due_s=500", "0 c submit.ok A due_s=500", *OTHER, *fault(2, 3), final(pending=["A"], done=["K"])], {"budget_s": 5}, id="what waits rightly"),
    pytest.param(G.RECOVERS_IN_TIME, ("A",), [*SUBMITTED, *OTHER, *fault(2, 3), final(pending=["A"], done=["K"])], {"budget_s": 5}, id="listed as pending"),
    pytest.param(G.RECOVERS_IN_TIME, "unknown", [*SUBMITTED, *OTHER, *fault(2, 3), final(pending=["A", "K"], done=["K"])], {"budget_s": 5}, id="listed as pending by an account that contradicts itself"),
    pytest.param(G.RECOVERS_IN_TIME, ("A",), [*SUBMITTED, *fault(2, 3), "4 w attempt.start K", "60 w9 crash -"], {"budget_s": 5}, id="unfinished, without an account"),
    pytest.param(G.STARTS_IN_TIME, "held", [*RAN, DONE], {"wait_s": 1}, id="started in time"),
    pytest.param(G.STARTS_IN_TIME, ("A",), [*RAN, DONE], {"wait_s": 0.5}, id="started late"),
    pytest.param(G.STARTS_IN_TIME, ("A",), [*SUBMITTED, *OTHER, final(pending=["A"], done=["K"])], {"wait_s": 50}, id="never started"),
    pytest.param(G.STARTS_IN_TIME, "unknown", [*RAN, DONE], {}, id="no wait stated"),
    pytest.param(G.STARTS_IN_TIME, "held", [*RAN, DONE], {"wait_s": {"5": 0.1}}, id="the wait of another priority"),
    pytest.param(G.STARTS_IN_TIME, ("A",), ["0 c submit.invoke A priority=5", "0 c submit.ok A", *RAN[2:], DONE], {"wait_s": {"5": 0.1}}, id="the wait of its priority"),
    pytest.param(G.STARTS_IN_TIME, "held", ["0 c submit.invoke A key=k", "0 c submit.ok A id=7", "0.1 c submit.invoke B key=k", "0.2 c submit.ok B id=7", *RAN[2:], DONE], {"wait_s": 2}, id="a resubmission is the first task"),
]  # fmt: skip


@pytest.mark.parametrize(("guarantee", "expected", "lines", "policy"), NEVER)
def test_never_is_later_than_any_bound(
    guarantee: G, expected: object, lines: list[str | Event], policy: dict[str, object]
) -> None:
    assert verdict(guarantee, lines, **policy) == expected


LEASED = (*SUBMITTED, "90 w1 lease.acquired - resource=A ttl_s=20", "90 w1 attempt.start A attempt=1")


@pytest.mark.parametrize(
    ("expected", "lines", "policy"),
    [
        pytest.param("held", ["0 c submit.invoke A due_s=99", "0 c submit.ok A"], {"tolerance_s": 2}, id="due within its tolerance after the end"),
        pytest.param(("A",), ["0 c submit.invoke A due_s=98", "0 c submit.ok A"], {"tolerance_s": 2}, id="due, with its tolerance, just at the end"),
        pytest.param("held", LEASED, {}, id="under a lease that was told"),
        pytest.param(("A",), [*LEASED, "91 w1 lease.released - resource=A ttl_s=20"], {}, id="its lease was released"),
        pytest.param("held", [*SUBMITTED, "90 w1 attempt.start A attempt=1"], {"lease_s": 20}, id="lease_s after its start"),
        pytest.param(("A",), [*SUBMITTED, "70 w1 attempt.start A attempt=1"], {"lease_s": 20}, id="longer than lease_s after its start"),
        pytest.param("held", [*SUBMITTED, "70 w1 attempt.start A attempt=1", "85 w1 crash -"], {"lease_s": 20}, id="lease_s after its crash"),
        pytest.param("held", [*SUBMITTED, "2 c pause.ok -"], {}, id="paused, and not resumed"),
        pytest.param(("A",), [*SUBMITTED, "2 c pause.ok -", "3 c resume.ok -"], {}, id="paused, and resumed"),
        pytest.param(("A",), [*SUBMITTED, "1 c submit.invoke B scope=mail", "1 c submit.fail B", "2 c pause.ok - scope=mail"], {}, id="another scope is paused"),
    ],
)  # fmt: skip
def test_what_waits_rightly_is_not_stuck(expected: object, lines: list[str], policy: dict[str, object]) -> None:
    assert verdict(G.NO_STUCK_TASK, [*lines, *OTHER, final(pending=["A"], done=["K"])], **policy) == expected


def test_what_waits_rightly_has_a_place_of_its_own_in_the_account() -> None:
    lines = ["0 c submit.invoke A due_s=500", "0 c submit.ok A", *OTHER, final(pending=["A"], done=["K"])]

    judgement = judge(Recorded(history_of(*lines)), claims=None, policy=policy_from({}))

    assert judgement.reconciliation.counts["waiting"] == 1
    assert judgement.reconciliation.balanced

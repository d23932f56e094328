"""What was submitted under one key, what ended, and what a reader is told of it."""

# ruff: noqa: E501, N817 -- a case is a line, and reads as one

import pytest

from scenarios.judging.guarantees import Guarantee as G
from scenarios.judging.judge import judge
from scenarios.judging.policy import policy_from
from scenarios.record.history import Event, Recorded
from tests.unit.rule_cases import DONE, OTHER, RAN, SUBMITTED, fault, final, history_of, verdict

FOLDED = (
    "0 c submit.invoke A key=k",
    "0 c submit.ok A id=1",
    "1 w attempt.start A",
    "2 c submit.invoke B key=k",
    "2.1 c submit.ok B id=1",
    "3 w attempt.ok A",
)


@pytest.mark.parametrize(
    ("guarantee", "expected", "lines", "policy"),
    [
        pytest.param(G.COALESCED_SUBMISSION_RUNS, ("B",), FOLDED, {"coalesce": True}, id="nothing started after it"),
        pytest.param(G.COALESCED_SUBMISSION_RUNS, "held", [*FOLDED, "4 w attempt.start A", "5 w attempt.ok A"], {"coalesce": True}, id="it began again"),
        pytest.param(G.COALESCED_SUBMISSION_RUNS, "unknown", FOLDED, {}, id="not stated"),
        pytest.param(G.IDEMPOTENT_SUBMISSION, "held", [*FOLDED[:3], "2 c submit.invoke B key=k", "2.1 c submit.ok B id=2", "3 w effect A", "4 w effect B"], {"coalesce": True}, id="another id after the start is another submission"),
        pytest.param(G.IDEMPOTENT_SUBMISSION, ("A", "B"), [*FOLDED[:2], "0.5 c submit.invoke B key=k", "2.1 c submit.ok B id=2", *FOLDED[2:3]], {"coalesce": True}, id="another id before the start is not"),
        pytest.param(G.IDEMPOTENT_SUBMISSION, ("A", "B"), [*FOLDED[:3], "2 c submit.invoke B key=k", "2.1 c submit.ok B id=2"], {}, id="without coalesce it never is"),
        pytest.param(G.IDEMPOTENT_SUBMISSION, ("A", "B"), [*FOLDED[:2], "10 c submit.invoke B key=k", "10 c submit.ok B id=2"], {"key_window_s": 10}, id="the key is still kept"),
        pytest.param(G.IDEMPOTENT_SUBMISSION, "held", [*FOLDED[:2], "10.1 c submit.invoke B key=k", "10.1 c submit.ok B id=2"], {"key_window_s": 10}, id="the key was forgotten"),
    ],
)  # fmt: skip
def test_submissions_of_one_key(guarantee: G, expected: object, lines: list[str], policy: dict[str, object]) -> None:
    assert verdict(guarantee, [*lines, *OTHER, final(done=["A", "K"])], **policy) == expected


@pytest.mark.parametrize(
    ("guarantee", "expected", "read"),
    [
        pytest.param(G.STATUS_TRUTHFUL, "held", "4 c status B state=SUCCEEDED", id="it is that task"),
        pytest.param(G.STATUS_TRUTHFUL, ("B",), "4 c status B state=DEAD", id="another state than that of the task"),
        pytest.param(G.RESULT_TRUTHFUL, "held", "4 c status B state=SUCCEEDED result=abc", id="its result"),
        pytest.param(G.RESULT_TRUTHFUL, ("B",), "4 c status B state=SUCCEEDED result=xyz", id="another result"),
    ],
)
def test_a_status_of_a_resubmission_is_that_of_the_task_it_was_answered_with(
    guarantee: G, expected: object, read: str
) -> None:
    ran = [*FOLDED[:-1], "2.5 w effect A", "3 w attempt.ok A result=abc"]

    assert verdict(guarantee, [*ran, read, *OTHER, final(done=["A", "K"])]) == expected


@pytest.mark.parametrize(("asked_ns", "expected"), [(2_000_000_000, "held"), (9_000_000_000, ("A",))])
@pytest.mark.parametrize("guarantee", [G.NO_LOST_TASK, G.OUTCOME_REPORTED])
def test_what_the_system_made_after_the_account_was_asked_for_is_not_missing_in_it(
    guarantee: G, asked_ns: int, expected: object
) -> None:
    end = Event(
        event="final", actor="lab", t_ns=9_500_000_000, asked_ns=asked_ns, healed=True, caught_up=True, done=("K",)
    )
    made = "3 office spawn A"
    ran = ["4 w1 attempt.start A attempt=1", "4.05 w1 effect A attempt=1", "5 w1 attempt.ok A attempt=1"]

    assert verdict(guarantee, [made, *(ran if guarantee is G.OUTCOME_REPORTED else ()), *OTHER, end]) == expected


def test_a_pause_is_over_when_its_end_is_asked_for() -> None:
    paused = [
        *SUBMITTED,
        "1 person pause.ok -",
        "3 w1 attempt.start A",
        Event(event="resume.ok", actor="person", t_ns=3_100_000_000, asked_ns=2_900_000_000),
    ]

    assert verdict(G.PAUSE_HONOURED, [*paused, "4 w1 attempt.ok A", DONE]) == "held"


@pytest.mark.parametrize(
    ("expected", "lines", "policy"),
    [
        pytest.param("held", [*RAN, DONE], {}, id="listed"),
        pytest.param(("A",), [*RAN, final()], {}, id="not listed"),
        pytest.param("held", [*RAN, final(done=None)], {}, id="a list that is null is no word"),
        pytest.param("held", [*RAN, "30 c status A state=RUNNING", DONE], {}, id="read within the budget"),
        pytest.param(("A",), [*RAN, "32 c status A state=RUNNING", DONE], {}, id="read after the budget"),
        pytest.param("held", [*RAN, "32 c status A state=RUNNING", "33 c status A state=SUCCEEDED", DONE], {}, id="the last read counts"),
        pytest.param("held", [*RAN, "32 c status A state=RUNNING", DONE], {"result_ttl_s": 30}, id="its result was kept no longer"),
        pytest.param("held", [*RAN, *fault(3, 20), "32 c status A state=RUNNING", DONE], {"budget_s": 15}, id="a fault excuses it"),
        pytest.param(("A",), [*RAN, *fault(3, 20), "36 c status A state=RUNNING", DONE], {"budget_s": 15}, id="a fault, and the budget after it"),
    ],
)  # fmt: skip
def test_what_ended_is_reported(expected: object, lines: list[str | Event], policy: dict[str, object]) -> None:
    assert verdict(G.OUTCOME_REPORTED, lines, **policy) == expected


def test_a_result_that_is_read_is_the_one_that_was_returned() -> None:
    ran = [*RAN[:-1], "1.1 w1 attempt.ok A attempt=1 result=abc"]

    assert verdict(G.RESULT_TRUTHFUL, [*ran, "2 c status A state=SUCCEEDED result=abc", DONE]) == "held"
    assert verdict(G.RESULT_TRUTHFUL, [*ran, "2 c status A state=SUCCEEDED result=xyz", DONE]) == ("A",)
    assert verdict(G.RESULT_TRUTHFUL, [*RAN, "2 c status A state=SUCCEEDED result=xyz", DONE]) == "held"


def test_the_labs_own_words_are_no_leak() -> None:
    found = [f"5 lab secret.{what} {'-' if what == 'sought' else 'A'} target={{}}" for what in ("sought", "found")]

    assert verdict(G.NOTHING_LEAKED, [*RAN, *(line.format("history.lab.jsonl") for line in found), DONE]) == "held"
    assert verdict(G.NOTHING_LEAKED, [*RAN, *(line.format("worker.log") for line in found), DONE]) == ("A",)


def test_an_account_that_contradicts_itself_proves_nothing() -> None:
    lines = [*SUBMITTED, *OTHER, final(done=["A", "K"], pending=["A"])]

    assert verdict(G.EXACTLY_ONE_EFFECT, lines) == "unknown"


@pytest.mark.parametrize(("state", "exercised"), [("SUCCEEDED", 1), ("RUNNING", 0)])
def test_a_client_that_reads_the_end_puts_it_to_the_test_where_the_system_lists_nothing(
    state: str, exercised: int
) -> None:
    history = history_of(*RAN, f"2 c status A state={state}", final(done=None))

    judgement = judge(Recorded(history), claims=[G.OUTCOME_REPORTED], policy=policy_from({}))

    assert [one.exercised for one in judgement.verdicts] == [exercised]

"""What excuses a late or a repeated start, and what comes too late to excuse it."""

# ruff: noqa: E501, N817 -- a case is a line, and reads as one

import pytest

from scenarios.judging.guarantees import Guarantee as G
from scenarios.record.history import Event
from tests.unit.rule_cases import FAILED, SUBMITTED, fault, final, verdict

SCHEDULE = {"delays_s": [[1, 2]], "tolerance_s": 0.5, "budget_s": 10, "attempts_max": 3}
PERMANENT = (*SUBMITTED, "1 w1 attempt.start A attempt=1", "2 w1 attempt.fail A attempt=1 error=permanent")
AGAIN = ("60 w1 attempt.start A attempt=2", "61 w1 attempt.ok A attempt=2")


def in_order(*lines: str) -> list[str | Event]:
    return sorted(lines, key=lambda line: float(line.split()[0]))


def retried(at_s: float) -> tuple[str, str]:
    return f"{at_s} w1 attempt.start A attempt=2", f"{at_s + 0.1} w1 attempt.ok A attempt=2"


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param(("A",), retried(9), id="late"),
        pytest.param("held", (*retried(9), *fault(2, 3)), id="a fault held it up"),
        pytest.param("held", (*retried(9), "3 w2 crash -"), id="the crash of a worker held it up"),
        pytest.param(("A",), (*retried(15), "3 w2 crash -"), id="not for longer than the budget"),
        pytest.param(("A",), (*retried(9), *fault(5, 6)), id="a fault after it was late"),
        pytest.param(("A",), (*retried(9), "8 w2 crash -"), id="a crash after it was late"),
        pytest.param("held", (*retried(24), *fault(2, 3), *fault(12, 15)), id="a fault while another one still excused it"),
        pytest.param(("A",), (*retried(30), *fault(2, 3), *fault(12, 15)), id="nor for longer than its budget"),
    ],
)  # fmt: skip
def test_a_late_retry_is_excused_by_what_held_it_up(expected: object, lines: tuple[str, ...]) -> None:
    events = in_order(*FAILED, *lines)

    assert verdict(G.RETRY_SCHEDULE, [*events, final(done=["A"])], **SCHEDULE) == expected


def test_a_fault_at_the_very_end_does_not_excuse_a_retry_that_never_came() -> None:
    events = in_order(*FAILED, *fault(95, 96))

    assert verdict(G.RETRY_SCHEDULE, [*events, final(pending=["A"])], **SCHEDULE) == ("A",)


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param(("A",), (), id="nothing happened"),
        pytest.param("held", ("50 w1 crash -",), id="its worker may never have reported it"),
        pytest.param(("A",), ("2.1 w1 ack.ok A attempt=1", "50 w1 crash -"), id="its acknowledgement had arrived"),
        pytest.param("held", ("2.1 w1 crash -", "2.2 w1 ack.ok A attempt=1"), id="its worker crashed before that"),
    ],
)
def test_a_start_after_a_permanent_failure_is_excused_until_the_failure_was_known(
    expected: object, lines: tuple[str, ...]
) -> None:
    events = in_order(*PERMANENT, *AGAIN, *lines)

    assert verdict(G.RETRY_SCHEDULE, [*events, final(done=["A"])], **SCHEDULE) == expected


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param(("A",), (), id="worked too late"),
        pytest.param(("A",), ("70 p redrive A", "71 w1 attempt.start A attempt=2", "72 w1 attempt.ok A attempt=2"), id="and was redriven later"),
        pytest.param(("A",), ("20 p redrive A",), id="too late after its redrive, too"),
        pytest.param("held", ("55 p redrive A",), id="in time after its redrive"),
    ],
)  # fmt: skip
def test_each_redrive_begins_a_budget_of_its_own(expected: object, lines: tuple[str, ...]) -> None:
    worked = ("59 w1 attempt.start A attempt=1", "61 w1 attempt.fail A attempt=1 error=transient")
    events = in_order(*SUBMITTED, *fault(2, 5), *worked, *lines)

    assert verdict(G.RECOVERS_IN_TIME, [*events, final(done=["A"])], budget_s=10) == expected


@pytest.mark.parametrize(("expected", "ttl_s"), [("held", 1), (("A",), 5)])
def test_a_success_that_came_after_its_lease_had_expired_does_not_contradict_a_burial(
    expected: object, ttl_s: int
) -> None:
    lease = f"0.9 w1 lease.acquired - resource=A ttl_s={ttl_s}"
    ran = ("1 w1 attempt.start A attempt=1", "3 w1 attempt.ok A attempt=1")
    buried = "10 database dead A reason=poison attempts=4"

    assert verdict(G.DEAD_LETTER_IF_EXHAUSTED, [*SUBMITTED, lease, *ran, buried, final(dead=["A"])]) == expected

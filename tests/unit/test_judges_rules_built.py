"""What a system states that it is built to do: renew its leases, end tasks at their deadline, write a letter for each dead task."""

# ruff: noqa: E501, N817 -- a case is a line, and reads as one

import pytest

from scenarios.judging.guarantees import Guarantee as G
from scenarios.record.history import Event
from tests.unit.rule_cases import DONE, FAILED, SUBMITTED, fault, final, verdict

LEASE = "0.9 w1 lease.acquired - resource=A fence=1 ttl_s=1"
START, END = "1 w1 attempt.start A attempt=1", "8 w1 attempt.ok A attempt=1"
EFFECT = "7.9 w1 effect A attempt=1"
RENEWED = tuple(f"{at_s} w1 lease.renewed - resource=A fence=1 ttl_s=1" for at_s in (1.5, 2.2, 3, 3.9, 5, 6, 7))


@pytest.mark.parametrize(
    ("expected", "lines", "policy"),
    [
        pytest.param(("A",), [LEASE, START], {"renew_s": 4}, id="never renewed"),
        pytest.param("held", [LEASE, START, *RENEWED], {"renew_s": 4}, id="renewed"),
        pytest.param(("A",), [LEASE, START, *RENEWED[:2]], {"renew_s": 4}, id="renewed, and then no more"),
        pytest.param("held", [LEASE, START, *RENEWED[:5]], {"renew_s": 4}, id="renewed in time"),
        pytest.param("held", ["8 w1 lease.acquired - resource=A fence=1 ttl_s=1", "8 w1 attempt.start A attempt=1"], {"renew_s": 4}, id="began and ended in one instant"),
        pytest.param("unknown", [LEASE, START], {}, id="not stated"),
        pytest.param("held", [START], {"renew_s": 4}, id="no lease is told"),
        pytest.param("held", [LEASE, START, "3 w1 lease.released - resource=A fence=1"], {"renew_s": 4}, id="given up on purpose"),
        pytest.param("held", [LEASE, START, *fault(2, 3)], {"renew_s": 4}, id="cut off"),
        pytest.param("held", [LEASE, START, *fault(2, 3, "process_paused", "w1")], {"renew_s": 4}, id="its worker stood still"),
        pytest.param(("A",), [LEASE, START, *fault(6, 7)], {"renew_s": 4}, id="a fault after the lease was long over"),
        pytest.param("held", [*fault(0.5, 0.99, "process_paused", "w1"), "1 w1 lease.acquired - resource=A fence=1 ttl_s=0.1", START, "1.05 w1 lease.renewed - resource=A fence=7 ttl_s=1"], {"renew_s": 4}, id="its worker stood still between asking for the lease and telling of it"),
        pytest.param(("A",), [*fault(0.1, 0.2, "process_paused", "w1"), LEASE.replace("ttl_s=1", "ttl_s=0.5"), START, "1.05 w1 lease.renewed - resource=A fence=7 ttl_s=0.6"], {"renew_s": 4}, id="its worker stood still before it asked"),
        pytest.param("held", [LEASE, START, "4 w1 crash -"], {"renew_s": 4}, id="its worker died"),
        pytest.param(("A",), [LEASE.replace("resource=A", "resource=task:A"), START], {"renew_s": 4}, id="never renewed, under the name of a task"),
        pytest.param("held", [LEASE, START, "0.5 client submit.ok A deadline_s=2"], {"renew_s": 4, "ends_at_deadline": True}, id="past the deadline at which it expires"),
        pytest.param(("A",), [LEASE, START, "0.5 client submit.ok A deadline_s=2"], {"renew_s": 4}, id="past a deadline at which it goes on"),
    ],
)  # fmt: skip
def test_an_attempt_that_works_long_renews_its_lease(
    expected: object, lines: list[str], policy: dict[str, object]
) -> None:
    events = sorted([*SUBMITTED, *lines, EFFECT, END], key=lambda line: float(line.split()[0]))

    assert verdict(G.LEASE_KEPT, [*events, DONE], **policy) == expected


def test_a_task_that_was_ended_under_its_worker_needs_no_lease_any_more() -> None:
    expired = "2 database state A from=RUNNING to=EXPIRED"
    lines = sorted([*SUBMITTED, LEASE, START, expired, EFFECT, END], key=lambda line: float(line.split()[0]))

    assert verdict(G.LEASE_KEPT, [*lines, final(expired=["A"])], renew_s=4) == "held"


DEADLINE = ("0 c submit.invoke A deadline_s=5", "0.01 c submit.ok A deadline_s=5")
ROWS = ("0.01 database state A from=null to=ACCEPTED", "1 database state A from=ACCEPTED to=RUNNING")
ENDS = {"ends_at_deadline": True}


@pytest.mark.parametrize(
    ("expected", "lines", "policy"),
    [
        pytest.param(("A",), ["1 w attempt.start A", "6 w attempt.ok A", DONE], ENDS, id="done too late"),
        pytest.param("held", ["1 w attempt.start A", "4 w attempt.ok A", DONE], ENDS, id="done in time"),
        pytest.param("held", ["1 w attempt.start A", "6 w attempt.ok A", final(expired=["A"])], ENDS, id="expired"),
        pytest.param("unknown", ["1 w attempt.start A", "6 w attempt.ok A", DONE], {}, id="not stated"),
        pytest.param("held", ["1 w attempt.start A", "5.3 w attempt.ok A", DONE], {**ENDS, "tolerance_s": 0.5}, id="within the tolerance"),
        pytest.param(("A",), [*ROWS, "1 w attempt.start A", "4.9 w attempt.ok A", "5.6 database state A from=RUNNING to=SUCCEEDED", DONE], ENDS, id="its row says when"),
        pytest.param("held", [*ROWS, "1 w attempt.start A", "4.9 database state A from=RUNNING to=SUCCEEDED", "6 w attempt.ok A", DONE], ENDS, id="its row was in time"),
        pytest.param("held", ["1 w attempt.start A", "4 w attempt.ok A", "7 w attempt.start A", "8 w attempt.ok A", DONE], ENDS, id="a repeat changes nothing"),
        pytest.param(("A",), [*ROWS, "2 database state A from=RUNNING to=EXPIRED", final(expired=["A"])], ENDS, id="expired too early"),
        pytest.param("held", ["0.5 c submit.invoke A deadline_s=9", "3 c submit.ok A deadline_s=9", ROWS[1], "6 database state A from=RUNNING to=EXPIRED", final(expired=["A"])], ENDS, id="expired early by the last answer, and not by the first submission"),
        pytest.param("held", [*ROWS, "4.6 database state A from=RUNNING to=EXPIRED", final(expired=["A"])], {**ENDS, "tolerance_s": 0.5}, id="expired early within the tolerance"),
        pytest.param("unknown", [*ROWS, "2 database state A from=RUNNING to=EXPIRED", final(expired=["A"])], {}, id="expired early, and nothing stated"),
    ],
)  # fmt: skip
def test_a_task_past_its_deadline_does_not_end_as_done(
    expected: object, lines: list[str | Event], policy: dict[str, object]
) -> None:
    assert verdict(G.NOT_DONE_AFTER_DEADLINE, [*DEADLINE, *lines], **policy) == expected


BURIED = (
    "2 database state A from=null to=ACCEPTED",
    "2.1 database state A from=ACCEPTED to=RUNNING",
    "2.2 database state A from=RUNNING to=DEAD",
)


@pytest.mark.parametrize(
    ("expected", "lines", "policy"),
    [
        pytest.param(("A",), [], {"dead_letters": True}, id="no letter, and letters are stated"),
        pytest.param("held", [], {}, id="no letter at all, and nothing stated"),
        pytest.param("held", ["2.2 database dead A attempts=1 reason=exhausted"], {"dead_letters": True}, id="one letter"),
        pytest.param(("A",), ["2.2 database dead A attempts=1 reason=exhausted"] * 2, {}, id="two letters"),
    ],
)  # fmt: skip
def test_each_dead_task_has_one_letter(expected: object, lines: list[str], policy: dict[str, object]) -> None:
    history = [*FAILED, *BURIED, *lines, final(dead=["A"])]

    assert verdict(G.DEAD_LETTER_IF_EXHAUSTED, history, attempts_max=1, **policy) == expected


def test_an_attempt_that_only_a_row_shows_counts_before_a_redrive() -> None:
    claimed = [f"{2 + number} database state A from=ACCEPTED to=RUNNING attempt={number}" for number in (1, 2)]
    again = ["6 admin redrive A", "7 w1 attempt.start A attempt=3", "7.1 w1 attempt.fail A attempt=3 error=transient"]
    lines = [*SUBMITTED, *claimed, *again, "8.2 w1 attempt.start A attempt=4", "8.3 w1 attempt.ok A attempt=4", DONE]

    assert verdict(G.RETRY_SCHEDULE, lines, attempts_max=3, delays_s=[[1, 2], [5, 9]]) == "held"


POISONED = (
    *SUBMITTED,
    "1 w1 attempt.start A attempt=1",
    "1.05 w1 effect A attempt=1",
    "1.1 w1 attempt.ok A attempt=1",
    "5 database dead A attempts=1 reason=poison",
    final(dead=["A"]),
)


@pytest.mark.parametrize(
    ("expected", "crashed"),
    [
        pytest.param(("A",), [], id="its worker lived"),
        pytest.param("held", ["1.2 w1 crash -"], id="its worker died before it could report"),
        pytest.param(("A",), ["6 w1 crash -"], id="its worker died long after"),
    ],
)
def test_a_success_that_was_never_reported_does_not_contradict_the_letter(expected: object, crashed: list[str]) -> None:
    lines = sorted([*POISONED[:-1], *crashed], key=lambda line: float(str(line).split()[0]))

    assert verdict(G.DEAD_LETTER_IF_EXHAUSTED, [*lines, POISONED[-1]], attempts_max=1) == expected


IN_VAIN = (
    *SUBMITTED,
    "1 w1 attempt.start A",
    "1.1 w1 attempt.fail A error=permanent",
    "3 w2 attempt.start A",
    "3.1 w2 attempt.ok A",
)
TOO_SOON = (*FAILED, "2 w2 attempt.start A attempt=2", "2.1 w2 attempt.ok A attempt=2")


@pytest.mark.parametrize("lines", [IN_VAIN, TOO_SOON])
@pytest.mark.parametrize(
    ("expected", "between"),
    [
        pytest.param(("A",), [], id="nothing came between"),
        pytest.param("held", ["1.2 w1 crash -"], id="it died before it could report"),
        pytest.param("held", fault(1.05, 1.9, "process_paused", "w1"), id="it stood still"),
        pytest.param(("A",), fault(1.05, 1.9), id="it was only cut off"),
        pytest.param(("A",), ["1.2 w3 crash -"], id="another died"),
    ],
)  # fmt: skip
def test_a_failure_that_was_never_reported_begins_no_delay(
    expected: object, between: list[str], lines: tuple[str, ...]
) -> None:
    events = sorted([*lines, *between], key=lambda line: float(line.split()[0]))

    assert verdict(G.RETRY_SCHEDULE, [*events, DONE], attempts_max=3, delays_s=[[5, 9]], budget_s=1) == expected

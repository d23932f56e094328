"""One cause for one repeat, exactly, over all rules."""

# ruff: noqa: E501, N817 -- a case is a line, and reads as one

import pytest

from scenarios.judging.causes import Cause, repeats_of
from scenarios.judging.guarantees import Guarantee as G
from scenarios.judging.policy import policy_from
from scenarios.record.history import Event
from tests.unit.rule_cases import DONE, FAILED, RAN, SUBMITTED, fault, final, history_of, verdict

AGAIN = ("5 w2 attempt.start A attempt=2", "5.1 w2 attempt.ok A attempt=2")


@pytest.mark.parametrize(
    ("cause", "lines", "policy"),
    [
        pytest.param(Cause.FAULT, [*RAN, *fault(6, 7), "8 w2 attempt.start A attempt=2"], {}, id="a fault within ack_s after the end"),
        pytest.param(Cause.UNEXPLAINED, [*RAN, *fault(6.2, 7), "8 w2 attempt.start A attempt=2"], {}, id="a fault later than that"),
        pytest.param(Cause.UNEXPLAINED, [*RAN, *fault(6, 7), "8 w2 attempt.start A attempt=2"], {"ack_s": 4}, id="a fault later than the stated ack_s"),
        pytest.param(Cause.FAULT, [*RAN[:-1], *fault(30, 31), "32 w2 attempt.start A attempt=2"], {}, id="an attempt without an end lasts to the next start"),
        pytest.param(Cause.LOST_ACK, [*RAN, "1.2 broker ack.info A attempt=1", *AGAIN], {}, id="the ack of its number"),
        pytest.param(Cause.UNEXPLAINED, [*RAN, "1.2 broker ack.info A attempt=7", *AGAIN], {}, id="the ack of another number"),
        pytest.param(Cause.LOST_ACK, [*RAN, "1.2 lab fault.begin - fault=ack_swallowed target=w1", '1.2 lab fault.bit - fault=ack_swallowed target=w1 messages=["A"]', *AGAIN], {}, id="the very message whose ack was swallowed"),
        pytest.param(Cause.UNEXPLAINED, [*RAN, "1.2 lab fault.begin - fault=acked_late target=w1", '1.2 lab fault.bit - fault=acked_late target=w1 messages=["AA"]', *AGAIN], {}, id="another message"),
        pytest.param(Cause.CRASH, [*RAN, "5.2 w1 crash - asked_s=4.9", *AGAIN], {}, id="a crash seen after the repeat, and asked for before"),
        pytest.param(Cause.UNEXPLAINED, [*RAN, "5.2 w1 crash - asked_s=5.1", *AGAIN], {}, id="a crash asked for after the repeat"),
        pytest.param(Cause.FAULT, [*RAN, "6.3 lab fault.begin - fault=kill target=broker asked_s=6", "6.4 lab fault.bit - fault=kill target=broker", "7 lab fault.healed - fault=kill target=broker", "8 w2 attempt.start A attempt=2"], {}, id="a fault that may have begun in time"),
        pytest.param(Cause.LEASE_RAN_OUT, [*SUBMITTED, "0.9 w1 lease.acquired - resource=A ttl_s=2", *RAN[2:], "3 w1 ack.ok A attempt=1", *AGAIN], {}, id="the lease ran out before the ack arrived"),
        pytest.param(Cause.UNEXPLAINED, [*SUBMITTED, "0.9 w1 lease.acquired - resource=A ttl_s=2", *RAN[2:], "2 w1 ack.ok A attempt=1", *AGAIN], {}, id="the ack arrived before the lease ran out"),
        pytest.param(Cause.LEASE_RAN_OUT, ["0 c submit.invoke A scope=s", "0 c submit.ok A", "0.9 w1 lease.acquired - resource=scope:s ttl_s=2", *RAN[2:], *AGAIN], {}, id="the lease on its scope"),
        pytest.param(Cause.OWNER_PAUSED, [*RAN[:-1], *fault(2, 4, "process_paused", "w1"), *AGAIN], {}, id="its worker stood still"),
        pytest.param(Cause.UNEXPLAINED, [*RAN[:-1], *fault(2, 4, "process_paused", "w3"), *AGAIN], {}, id="another worker stood still"),
        pytest.param(Cause.OWNER_PAUSED, [*fault(0.5, 4, "process_paused", "w2"), *RAN, *AGAIN], {}, id="the worker that ran it again stood still, with the message in hand"),
        pytest.param(Cause.UNEXPLAINED, [*fault(0.5, 4, "process_paused", "w2"), *RAN, *AGAIN], {"ack_s": 0.5}, id="it stood still, and ran it again much later"),
        pytest.param(Cause.UNEXPLAINED, [*RAN, *fault(1.5, 4, "process_paused", "w2"), *AGAIN], {}, id="it stood still when the task had run"),
        pytest.param(Cause.UNEXPLAINED, [*fault(0.5, 4, "process_paused", "w2"), "0.9 w1 lease.acquired - resource=A ttl_s=20", *RAN[:-1], *AGAIN], {}, id="it stood still, and another held the lease"),
        pytest.param(Cause.UNEXPLAINED, [*SUBMITTED, "0.9 w1 lease.acquired - resource=A ttl_s=20", *RAN[2:-1], *fault(2, 4, "process_paused", "w1"), *AGAIN], {}, id="its worker stood still, and its lease had not run out"),
        pytest.param(Cause.UNEXPLAINED, [*RAN[:-1], "6 lab fault.begin - fault=process_paused target=w1", "6 lab fault.bit - fault=process_paused target=w1", *AGAIN], {}, id="its worker stood still after the repeat"),
    ],
)  # fmt: skip
def test_the_cause_of_a_repeat_is_exact(cause: Cause, lines: list[str], policy: dict[str, object]) -> None:
    (repeats,) = repeats_of(history_of(*lines), policy_from(policy)).values()

    assert [repeat.cause for repeat in repeats] == [cause]


FORKED = (
    *(*FAILED, "1.2 w1 crash -"),
    *("1.5 w2 attempt.start A attempt=1", "1.6 w2 attempt.ok A attempt=1"),
    *("2 w3 attempt.start A attempt=2", "2.1 w3 attempt.ok A attempt=2"),
)
"""A retry was sent, its message not acknowledged: redelivery and retry both run."""


@pytest.mark.parametrize(
    ("causes", "lines"),
    [
        pytest.param([Cause.FAILED_BEFORE, Cause.CRASH], FORKED, id="one of each"),
        pytest.param([Cause.FAILED_BEFORE, Cause.CRASH, Cause.UNEXPLAINED], [*FORKED, "3 w3 attempt.start A attempt=2"], id="each only once"),
        pytest.param([Cause.FAILED_BEFORE, Cause.UNEXPLAINED], [line for line in FORKED if "crash" not in line], id="two retries of one failure"),
        pytest.param([Cause.FAILED_BEFORE, Cause.UNEXPLAINED], [line.replace("1.2 w1 crash", "1.2 w9 crash") for line in FORKED], id="another worker crashed"),
        pytest.param([Cause.REDRIVE, Cause.UNEXPLAINED], [*RAN, "2 operator redrive A", "3 w2 attempt.start A", "3.1 w2 attempt.ok A", "4 w3 attempt.start A"], id="a redrive causes one start"),
        pytest.param([Cause.CRASH, Cause.UNEXPLAINED], [*RAN, "1.2 w1 crash -", "5 w2 attempt.start A", "5.1 w2 attempt.ok A", "6 w3 attempt.start A"], id="a crash causes one start"),
    ],
)  # fmt: skip
def test_a_cause_may_lie_in_an_earlier_attempt_than_the_last(causes: list[Cause], lines: list[str]) -> None:
    (repeats,) = repeats_of(history_of(*lines), policy_from({})).values()

    assert [repeat.cause for repeat in repeats] == causes


def test_one_swallowed_ack_excuses_only_the_attempt_it_was_for() -> None:
    lines = []
    for task, id_ in (("one", 1), ("twelve", 12), ("ninety", 90), ("much", 907)):
        lines += [
            f"0 c submit.invoke {task}",
            f"0.1 c submit.ok {task} id={id_}",
            f"1 w1 attempt.start {task}",
            f"1.5 w1 attempt.ok {task}",
            f"5 w2 attempt.start {task}",
        ]
    lines += [
        "2 lab fault.begin - fault=ack_swallowed target=w1",
        "2 lab fault.bit - fault=ack_swallowed target=w1 messages=[907]",
    ]

    repeats = repeats_of(history_of(*lines), policy_from({}))

    assert {task: own[0].cause for task, own in repeats.items()} == dict.fromkeys(
        ("one", "twelve", "ninety"), Cause.UNEXPLAINED
    ) | {"much": Cause.LOST_ACK}


IN_HAND = (*SUBMITTED, "0.5 broker ack.info A attempt=1")
TWO_RUNS = (
    "1 w1 attempt.start A attempt=1",
    "1.1 w1 attempt.ok A attempt=1",
    "3 w2 attempt.start A attempt=1",
    "3.1 w2 attempt.ok A attempt=1",
)
THIRD_RUN = ("4 w1 attempt.start A attempt=1", "4.1 w1 attempt.ok A attempt=1")


def test_a_delivery_that_was_cut_off_before_its_start_explains_one_repeat_whichever_worker_ran_first() -> None:
    swapped = tuple(line.replace("w1", "w3").replace("w2", "w1").replace("w3", "w2") for line in TWO_RUNS)
    for runs in (TWO_RUNS, swapped):
        repeats = repeats_of(history_of(*IN_HAND, *runs, *THIRD_RUN), policy_from({}))["A"]

        assert [(repeat.cause, repeat.is_redelivery) for repeat in repeats] == [
            (Cause.LOST_ACK, True),
            (Cause.UNEXPLAINED, False),
        ]


def test_a_delivery_that_is_cut_off_later_than_both_starts_explains_neither() -> None:
    repeats = repeats_of(history_of(*SUBMITTED, *TWO_RUNS, "5 broker ack.info A attempt=7"), policy_from({}))["A"]

    assert [repeat.cause for repeat in repeats] == [Cause.UNEXPLAINED]


REDELIVERED = (
    *RAN,
    "1.2 broker ack.info A attempt=1",
    "5 w2 attempt.start A attempt=1",
    "5.1 w2 attempt.ok A attempt=1",
    DONE,
)


CRASHED = (*RAN[:-1], "2 w1 crash -", "5 w2 attempt.start A attempt=2", "5.1 w2 attempt.ok A attempt=2", DONE)


SOONER = (
    *FAILED,
    "1.2 broker ack.info A attempt=1",
    "1.4 w2 attempt.start A attempt=1",
    "1.5 w2 attempt.ok A attempt=1",
    DONE,
)


@pytest.mark.parametrize(
    ("guarantee", "expected", "lines", "policy"),
    [
        pytest.param(G.POISON_BOUNDED, "held", REDELIVERED, {"attempts_max": 1}, id="poison: a lost ack"),
        pytest.param(G.RETRY_SCHEDULE, "held", REDELIVERED, {"attempts_max": 1}, id="schedule: a lost ack"),
        pytest.param(G.POISON_BOUNDED, ("A",), CRASHED, {"attempts_max": 1}, id="poison: a crash counts"),
        pytest.param(G.RETRY_SCHEDULE, "held", CRASHED, {"attempts_max": 1}, id="schedule: a crash does not count"),
        pytest.param(G.RETRY_SCHEDULE, "held", SOONER, {"delays_s": [[1, 2]]}, id="schedule: the message of a failed attempt came again"),
        pytest.param(G.RETRY_SCHEDULE, ("A",), [line.replace("start A attempt=1", "start A attempt=2") if isinstance(line, str) and "w2" in line else line for line in SOONER], {"delays_s": [[1, 2]]}, id="schedule: numbered as a retry"),
        pytest.param(G.POISON_BOUNDED, ("A",), [*FAILED, *fault(1.1, 2), "3 w2 attempt.start A attempt=2", final(pending=["A"])], {"attempts_max": 1}, id="poison: a retry during a fault counts"),
    ],
)  # fmt: skip
def test_there_is_one_cause_for_one_repeat_over_all_rules(
    guarantee: G, expected: object, lines: list[str | Event], policy: dict[str, object]
) -> None:
    assert verdict(guarantee, lines, **policy) == expected


@pytest.mark.parametrize(
    ("expected", "end"),
    [
        pytest.param("held", [], id="it gave back what it had not finished"),
        pytest.param(("A",), ["1.5 w1 attempt.ok A attempt=1"], id="what it had finished came again"),
        pytest.param(
            ("A",), ["2.5 w1 attempt.ok A attempt=1"], id="what it finished after it was told to end came again"
        ),
    ],
)
def test_a_worker_that_ends_as_it_is_told_has_settled_what_it_finished(expected: object, end: list[str]) -> None:
    started = [*SUBMITTED, "1 w1 attempt.start A attempt=1", *end]
    again = ["4 w2 attempt.start A attempt=1", "4.1 w2 attempt.ok A attempt=1", DONE]
    killed = [*started, "3 w1 crash - asked_s=2", *again]
    stopped = [*started, "3 w1 crash - asked_s=2 clean=true", *again]

    assert verdict(G.DUPLICATES_EXPLAINED, killed) == "held"
    assert verdict(G.DUPLICATES_EXPLAINED, stopped) == expected


def test_a_lease_acquired_anew_without_another_attempt_is_the_same_hold() -> None:
    lines = [
        *SUBMITTED,
        "1 w1 lease.acquired - resource=A ttl_s=2",
        "1 w1 attempt.start A attempt=1",
        "3.1 w1 lease.acquired - resource=A ttl_s=9",
        "5 w2 attempt.start A attempt=1",
        "9 w1 attempt.ok A attempt=1",
        "9.5 w2 attempt.ok A attempt=1",
        DONE,
    ]

    assert verdict(G.DUPLICATES_EXPLAINED, lines, attempts_max=1) == ("A",)


@pytest.mark.parametrize(
    ("expected", "again_s"),
    [
        pytest.param("held", 3.1, id="the lease had run out"),
        pytest.param(("A",), 2.5, id="the lease was valid: it is the same hold"),
    ],
)
def test_a_message_that_comes_again_to_the_worker_that_has_it_in_hand_is_a_new_hold(
    expected: object, again_s: float
) -> None:
    """kombu on Redis restores a message after the visibility timeout, also to the worker at work on it (run long_work-celery-1)."""
    lines = [
        *SUBMITTED,
        "1 w1 lease.acquired - resource=A ttl_s=2",
        "1 w1 attempt.start A attempt=1",
        f"{again_s} w1 lease.acquired - resource=A ttl_s=2",
        f"{again_s} w1 attempt.start A attempt=1",
        "9 w1 attempt.ok A attempt=1",
        "9.5 w1 attempt.ok A attempt=1",
        DONE,
    ]

    assert verdict(G.DUPLICATES_EXPLAINED, lines, attempts_max=1) == expected

"""What a policy says of errors and leases: which errors are permanent, and who ends a lease."""

# ruff: noqa: E501, N817 -- a case is a line, and reads as one

import pytest

from scenarios.errors import MalformedPolicy
from scenarios.judging.guarantees import Guarantee as G
from scenarios.judging.policy import Policy, policy_from
from scenarios.record.history import Event
from tests.unit.rule_cases import DONE, OTHER, RAN, SUBMITTED, final, verdict

FAILED = (*SUBMITTED, "1 w1 attempt.start A attempt=1", "1.1 w1 attempt.fail A attempt=1 error=permanent")
AGAIN = ("2 w2 attempt.start A attempt=2", "2.05 w2 effect A attempt=2", "2.1 w2 attempt.ok A attempt=2")
BURIED = ("1.2 d dead A attempts=1 reason=exhausted", *OTHER, final(dead=["A"], done=["K"]))
NONE: dict[str, object] = {"permanent_errors": []}


@pytest.mark.parametrize(
    ("expected", "guarantee", "lines", "policy"),
    [
        pytest.param(("A",), G.RETRY_SCHEDULE, [*FAILED, *AGAIN, DONE], {"attempts_max": 3}, id="unless stated otherwise, a permanent error is the last"),
        pytest.param("held", G.RETRY_SCHEDULE, [*FAILED, *AGAIN, DONE], {"attempts_max": 3, **NONE}, id="none is: it is tried again"),
        pytest.param(("A",), G.RETRY_SCHEDULE, [*FAILED, *AGAIN, DONE], {"attempts_max": 3, "delays_s": [[5, 9]], **NONE}, id="none is: its retry keeps the schedule"),
        pytest.param(("A",), G.RETRY_SCHEDULE, [*FAILED, *OTHER, final(pending=["A"], done=["K"])], {"attempts_max": 3, "delays_s": [[5, 9]], **NONE}, id="none is: its retry never comes"),
        pytest.param(("A",), G.RETRY_SCHEDULE, [*(line.replace("permanent", "unknown") for line in FAILED), *AGAIN, DONE], {"attempts_max": 3, "permanent_errors": ["permanent", "unknown"]}, id="an unknown error is one, too"),
        pytest.param(("A",), G.DEAD_LETTER_IF_EXHAUSTED, [*FAILED, *OTHER, final(dead=["A"], done=["K"])], {"attempts_max": 3, **NONE}, id="none is: given up with attempts left"),
        pytest.param("held", G.DEAD_LETTER_IF_EXHAUSTED, [*FAILED, *OTHER, final(dead=["A"], done=["K"])], {"attempts_max": 3}, id="unless stated otherwise, given up at once"),
        pytest.param(("A",), G.DEAD_LETTER_IF_EXHAUSTED, [*FAILED, *OTHER, final(done=["K"])], {"attempts_max": 3}, id="and to be listed as dead"),
        pytest.param("held", G.DEAD_LETTER_IF_EXHAUSTED, [*FAILED, *AGAIN, DONE], {"attempts_max": 3, **NONE}, id="none is: no dead letter is due"),
        pytest.param("held", G.DEAD_LETTER_IF_EXHAUSTED, [*FAILED, *BURIED], {"attempts_max": 1, **NONE}, id="none is: the last attempt ends it"),
        pytest.param(("A",), G.NO_LOST_TASK, [*FAILED, *OTHER, final(done=["K"], dead=None)], {"attempts_max": 3, **NONE}, id="none is: a task that is nowhere is lost"),
        pytest.param("held", G.NO_LOST_TASK, [*FAILED, *OTHER, final(done=["K"], dead=None)], {"attempts_max": 3}, id="unless stated otherwise, it was given up"),
    ],
)  # fmt: skip
def test_which_errors_are_permanent(
    expected: object, guarantee: G, lines: list[str | Event], policy: dict[str, object]
) -> None:
    assert verdict(guarantee, lines, **policy) == expected


LONG = (*SUBMITTED, "1 w1 attempt.start A attempt=1", "9 w1 effect A attempt=1", "9.1 w1 attempt.ok A attempt=1")
SECOND = ("6 w2 attempt.start A attempt=1", "6.2 w2 attempt.ok A attempt=1")
BROKER: dict[str, object] = {"lease_s": 4, "lease_owner": "broker"}


@pytest.mark.parametrize(
    ("expected", "lines", "policy"),
    [
        pytest.param(("A",), [*LONG, *SECOND], {"lease_s": 4}, id="the worker's: it renews while it lives"),
        pytest.param("held", [*LONG, *SECOND], BROKER, id="the broker's: its message was delivered again"),
        pytest.param(("A",), [*LONG, "3 w2 attempt.start A", "3.2 w2 attempt.ok A"], BROKER, id="before the lease was over"),
        pytest.param(("A",), [*RAN, "9 w2 attempt.start A", "9.1 w2 attempt.ok A"], BROKER, id="what had ended before the lease did"),
        pytest.param(("A",), [*LONG, "3 b ack.invoke A attempt=1", "3.1 b ack.ok A attempt=1", *SECOND], BROKER, id="what was acknowledged before the lease was over"),
        pytest.param("held", ["0 c submit.invoke A", "0 c submit.ok A", "5 w1 attempt.start A", "5.5 w2 attempt.start A", "6 w1 attempt.ok A", "6 w2 attempt.ok A"], BROKER, id="fetched ahead: the lease began before the attempt"),
        pytest.param(("A",), ["0 c submit.invoke A", "0 c submit.ok A", "1 w1 attempt.start A attempt=1", "2 w1 attempt.fail A attempt=1 error=transient", "4.5 w1 attempt.start A attempt=2", "5 w2 attempt.start A attempt=2", "5.5 w1 attempt.ok A attempt=2", "5.5 w2 attempt.ok A attempt=2"], BROKER, id="the message of a retry is younger"),
        pytest.param(("A",), ["0 c submit.invoke A", "0 c submit.ok A", "5 w1 attempt.start A", "5.1 w2 attempt.start A", "5.2 w3 attempt.start A", "6 w1 attempt.ok A", "6 w2 attempt.ok A", "6 w3 attempt.ok A"], BROKER, id="one lease gives one more, not two"),
        pytest.param("held", ["0 c submit.invoke A", "0 c submit.ok A", "1 w1 attempt.start A", "4.5 w2 attempt.start A", "8.5 w3 attempt.start A", "9 w1 attempt.ok A", "9 w2 attempt.ok A", "9 w3 attempt.ok A"], BROKER, id="two leases, one after the other"),
        pytest.param(("A",), ["0.9 w1 lease.acquired - resource=A fence=1 ttl_s=60", *LONG, *SECOND], BROKER, id="a recorded lease says more"),
    ],
)  # fmt: skip
def test_who_ends_a_lease(expected: object, lines: list[str], policy: dict[str, object]) -> None:
    assert verdict(G.DUPLICATES_EXPLAINED, [*lines, DONE], **policy) == expected


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ({"permanent_errors": ["fatal"]}, "fatal"),
        ({"permanent_errors": "permanent"}, "permanent_errors"),
        ({"lease_owner": "redis", "lease_s": 1}, "redis"),
        ({"lease_owner": "broker"}, "lease_s"),
    ],
)
def test_what_a_policy_cannot_say_is_named(stated: dict[str, object], named: str) -> None:
    with pytest.raises(MalformedPolicy, match=named):
        policy_from(stated)


def test_only_the_stated_errors_are_permanent() -> None:
    assert [Policy().is_permanent(error) for error in ("transient", "permanent", "unknown", None)] == [
        False,
        True,
        False,
        False,
    ]
    assert not Policy(permanent_errors=()).is_permanent("permanent")
    assert Policy(permanent_errors=("transient",)).is_permanent("transient")

"""Dead, cancelled, in order: how a task may end, however it is told."""

# ruff: noqa: E501, N817 -- a case is a line, and reads as one

import pytest

from scenarios.judging.guarantees import Guarantee as G
from scenarios.record.history import Event
from tests.unit.rule_cases import DONE, FAILED, OTHER, RAN, SUBMITTED, final, verdict

ZOMBIE = (
    *SUBMITTED, "0.9 w1 lease.acquired - resource=A fence=1 ttl_s=2", "1 w1 attempt.start A attempt=1", "1.1 w1 effect A attempt=1",
    "4 d dead A attempts=1 reason=poison", "5 w1 attempt.ok A attempt=1",
)  # fmt: skip


TOLD = (
    "0 c submit.invoke B",
    "0 c submit.ok B",
    "1 d state B to=ACCEPTED",
    "2 d state B from=ACCEPTED to=DEAD",
    "2 d dead B attempts=0 reason=permanent",
)


@pytest.mark.parametrize(
    ("expected", "lines", "policy"),
    [
        pytest.param("held", [*ZOMBIE, final(dead=["A"])], {"attempts_max": 1}, id="a zombie reports its success late"),
        pytest.param(("A",), [*ZOMBIE[:2], "0.9 w1 lease.acquired - resource=A fence=1 ttl_s=20", *ZOMBIE[3:], final(dead=["A"])], {"attempts_max": 1}, id="its lease had not run out"),
        pytest.param(("A",), [*SUBMITTED, *OTHER, final(dead=["A"], done=["K"])], {}, id="listed, without any attempt and any bound"),
        pytest.param("held", [*FAILED, *OTHER, final(dead=["A"], done=["K"])], {}, id="listed after an attempt, and no bound is stated"),
        pytest.param(("A",), [*FAILED, *OTHER, final(dead=["A"], done=["K"])], {"attempts_max": 2}, id="listed with attempts left"),
        pytest.param("held", [*FAILED[:-1], "1.1 w1 attempt.fail A attempt=1 error=permanent", *OTHER, final(dead=["A"], done=["K"])], {"attempts_max": 2}, id="listed after a permanent failure"),
        pytest.param(("A",), [*SUBMITTED, "2 d dead A attempts=0 reason=exhausted", *OTHER, final(dead=["A"], done=["K"])], {}, id="exhausted without an attempt"),
        pytest.param("held", [*SUBMITTED, "2 d dead A attempts=0 reason=poison", *OTHER, final(dead=["A"], done=["K"])], {}, id="poison without an attempt"),
        pytest.param(("A",), [*TOLD, *SUBMITTED, "1 d state A to=ACCEPTED", "2 d state A from=ACCEPTED to=DEAD", *OTHER,
                              "3 w1 attempt.start A", "3.1 w1 attempt.fail A error=permanent", final(dead=["A", "B"], done=["K"])], {}, id="another has its letter, this one none"),
        pytest.param("held", [*TOLD, *OTHER, final(dead=["B"], done=["K"])], {}, id="one letter for one move"),
        pytest.param(("B",), [*TOLD, "3 d dead B attempts=0 reason=permanent", *OTHER, final(dead=["B"], done=["K"])], {}, id="two letters for one move"),
        pytest.param("held", [*RAN, "2 w2 attempt.start A attempt=2", "3 w2 attempt.fail A attempt=2 error=permanent", DONE], {}, id="a repeat after a success needs no letter"),
    ],
)  # fmt: skip
def test_dead_is_dead_however_it_is_told(expected: object, lines: list[str | Event], policy: dict[str, object]) -> None:
    assert verdict(G.DEAD_LETTER_IF_EXHAUSTED, lines, **policy) == expected


def test_a_zombie_whose_effect_was_refused_did_not_succeed() -> None:
    refused = [line.replace(" effect A", " effect.rejected A") for line in ZOMBIE]

    assert verdict(G.EXACTLY_ONE_EFFECT, [*refused, *OTHER, final(dead=["A"], done=["K"])]) == "held"


CANCELLED = (*SUBMITTED, "1 w1 attempt.start A attempt=1", "2 c cancel.ok A")


@pytest.mark.parametrize(
    ("expected", "lines", "policy"),
    [
        pytest.param("held", [*CANCELLED, final(cancelled=["A"])], {}, id="nothing came"),
        pytest.param(("A",), [*CANCELLED, "3 w1 effect A attempt=1", final(cancelled=["A"])], {}, id="an effect"),
        pytest.param("held", [*CANCELLED, "3 w1 effect A attempt=1", final(cancelled=["A"])], {"grace_s": 1}, id="an effect within the grace"),
        pytest.param(("A",), [*CANCELLED, "3 w1 attempt.ok A attempt=1", final(cancelled=["A"])], {}, id="it ended ok"),
        pytest.param("held", [*RAN, "2 c cancel.ok A", DONE], {}, id="it had ended ok by then"),
        pytest.param(("A",), [*SUBMITTED, "2 c cancel.ok A", *OTHER, final(done=["A", "K"])], {}, id="listed as done"),
        pytest.param("held", [*CANCELLED, "4 p redrive A", "5 w1 attempt.start A attempt=2", "6 w1 effect A", "7 w1 attempt.ok A attempt=2", DONE], {}, id="redriven"),
        pytest.param("held", [*CANCELLED, "4 c submit.invoke A", "4 c submit.ok A", "5 w1 attempt.start A attempt=2", "6 w1 attempt.ok A attempt=2", DONE], {}, id="submitted again"),
        pytest.param(("A",), [*CANCELLED, "4 p redrive A", "5 c cancel.ok A", "6 w1 attempt.start A attempt=2", final(cancelled=["A"])], {}, id="redriven, and cancelled again"),
        pytest.param("held", [*SUBMITTED, "2 c cancel.info A", "3 w1 attempt.start A", "4 w1 attempt.ok A", DONE], {}, id="only asked to stop"),
    ],
)  # fmt: skip
def test_an_acknowledged_cancellation_is_held_against_what_comes_after(
    expected: object, lines: list[str | Event], policy: dict[str, object]
) -> None:
    assert verdict(G.CANCEL_HONOURED, lines, **policy) == expected


KEYED = ("0 c submit.invoke A order_key=k", "0.1 c submit.ok A", "1 c submit.invoke B order_key=k", "1.1 c submit.ok B")


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param("held", [*KEYED, "2 w attempt.start A", "3 w attempt.ok A", "3 v attempt.start B", "4 v attempt.ok B", final(done=["A", "B"])], id="one after the other"),
        pytest.param("held", [*KEYED, "2 w attempt.start A", "3 w attempt.ok A", "4 v attempt.start B", "5 u attempt.start A", "6 v attempt.ok B", final(done=["A", "B"])], id="a repeat after success is no retry"),
        pytest.param("held", [*KEYED, "1.5 c cancel.ok A", "2 v attempt.start B", "3 v attempt.ok B", final(cancelled=["A"], done=["B"])], id="the earlier was cancelled"),
        pytest.param(("B",), [*KEYED, "1.2 w attempt.start A", "1.5 c cancel.ok A", "2 v attempt.start B", "3 v attempt.ok B", "4 w attempt.fail A error=unknown", final(cancelled=["A"], done=["B"])], id="the earlier was cancelled, and still ran"),
        pytest.param("held", [*KEYED, "1.2 w attempt.start A", "1.4 w attempt.fail A error=permanent", "1.5 d dead A attempts=1 reason=permanent", "2 v attempt.start B", "3 v attempt.ok B", final(dead=["A"], done=["B"])], id="the earlier is dead"),
        pytest.param("held", [*KEYED, "1.2 w attempt.start A", "1.4 w attempt.fail A error=permanent", "2 v attempt.start B", "3 v attempt.ok B", final(dead=["A"], done=["B"])], id="the earlier is listed final: the end of its last attempt"),
        pytest.param(("B",), [*KEYED, "2 v attempt.start B", "3 v attempt.ok B", final(pending=["A"], done=["B"])], id="the earlier never began"),
    ],
)  # fmt: skip
def test_nothing_of_a_key_begins_before_the_earlier_has_ended(expected: object, lines: list[str | Event]) -> None:
    assert verdict(G.ORDER_KEPT, lines, order="serial") == expected


ACTED = (
    *SUBMITTED,
    "1 w1 attempt.start A attempt=1",
    "1.1 w1 effect A attempt=1",
    "0 c submit.ok B",
    "9 w9 attempt.start B attempt=1",
)
"""And an attempt of another task that may still run at the end: so nothing says whether the history records ends."""


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param(("A",), [], id="its worker lived on"),
        pytest.param("held", ["1.2 w1 crash -"], id="its worker crashed before it could report"),
        pytest.param(("A",), ["0.5 w1 crash -"], id="its worker had crashed before"),
        pytest.param(("A",), ["7 w1 crash -"], id="its worker crashed after the death"),
        pytest.param(("A",), ["1.2 w2 crash -"], id="another worker crashed"),
    ],
)
def test_if_no_end_is_recorded_an_effect_is_a_success_unless_its_worker_crashed(
    expected: object, lines: list[str]
) -> None:
    events = sorted([*ACTED, *lines, "5 d dead A attempts=1 reason=poison"], key=lambda line: float(line.split()[0]))

    assert verdict(G.DEAD_LETTER_IF_EXHAUSTED, [*events, final(dead=["A"], pending=["B"])], attempts_max=1) == expected


@pytest.mark.parametrize(
    ("expected", "lines", "dead"),
    [
        pytest.param("held", ["3 reader status A state=DEAD"], None, id="its client was told that it failed"),
        pytest.param(("A",), ["3 reader status A state=RUNNING"], None, id="its client was told that it runs"),
        pytest.param(("A",), ["3 reader status A state=DEAD", "4 reader status A state=PENDING"], None, id="it was told otherwise later"),
        pytest.param(("A",), ["3 reader status A state=DEAD", "4 operator redrive A"], None, id="it was put back since"),
        pytest.param(("A",), ["3 reader status A state=FAILED", "4 w2 attempt.start A attempt=2"], None, id="it was tried again since"),
        pytest.param("held", ["3 w2 attempt.start A attempt=2", "4 reader status A state=FAILED"], None, id="it was told after the last try began"),
        pytest.param(("A",), ["3 reader status A state=DEAD"], [], id="the system lists its dead, and not this one"),
    ],
)  # fmt: skip
def test_a_task_whose_failure_was_read_is_not_lost_where_nothing_lists_it(
    expected: object, lines: list[str], dead: list[str] | None
) -> None:
    """Celery keeps the failure of a task whose pool process died in its result backend, and lists nothing (run child_killed-celery-1)."""
    seen = [*SUBMITTED, "1 w1 attempt.start A attempt=1", *OTHER, *lines, final(done=["K"], dead=dead)]

    assert verdict(G.NO_LOST_TASK, seen, attempts_max=3) == expected

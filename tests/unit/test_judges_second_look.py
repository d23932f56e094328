"""Rules 18 to 27: the corners of each, beside the judged cases and the planted anomalies."""

# ruff: noqa: E501, N817 -- a case is a line, and reads as one

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.errors import MalformedPolicy
from scenarios.judging.causes import Cause, repeats_of
from scenarios.judging.guarantees import Guarantee as G
from scenarios.judging.judge import judge
from scenarios.judging.policy import policy_from
from scenarios.judging.verdict import EXIT_UNKNOWN, Ruling
from scenarios.record.history import Event, History, Recorded, event_from
from scenarios.record.run_facts import RunFacts
from scenarios.stored import reading
from scenarios.stored.judge_files import JudgeOptions, judge_path, judge_run
from scenarios.stored.large.prefilter import prefilter
from scenarios.stored.reading import read_files
from scenarios.stored.rundir import RunDirectory, runs_without_facts
from tests.examples import examples
from tests.history_strategies import Draft, legal_drafts


def event(line: str) -> Event:
    """`1.5 w1 attempt.start A attempt=1`: time, actor, event, task (or -), fields; a value is JSON, or else a text."""
    at_s, actor, name, task, *fields = line.split()
    values: dict[str, object] = {"t_s": float(at_s), "actor": actor, "event": name}
    if task != "-":
        values["task"] = task
    for field in fields:
        key, _, value = field.partition("=")
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value
        if key == "asked_s":
            values["asked_ns"] = round(float(str(values.pop(key))) * 1e9)
    return event_from(values)


def final(at_s: float = 100, *, healed: bool = True, caught_up: bool = True, **lists: Iterable[str] | None) -> Event:
    names = ("done", "dead", "cancelled", "expired", "pending")
    listed = {name: lists.get(name, ()) for name in names}
    as_tuples = {name: None if tasks is None else tuple(tasks) for name, tasks in listed.items()}
    return Event(event="final", actor="lab", t_ns=round(at_s * 1e9), healed=healed, caught_up=caught_up, **as_tuples)


def history_of(*lines: str | Event) -> History:
    return History([line if isinstance(line, Event) else event(line) for line in lines])


def verdict(guarantee: G, lines: Iterable[str | Event], **policy: object) -> str | tuple[str, ...]:
    """`held`, `unknown`, or the witnesses of the break."""
    judgement = judge(Recorded(history_of(*lines)), claims=[guarantee], policy=policy_from(policy))
    (one,) = judgement.verdicts
    return one.witnesses if one.ruling is Ruling.BROKEN else one.ruling.value


SUBMITTED = ("0 client submit.invoke A", "0.01 client submit.ok A")
OTHER = (
    "0 client submit.invoke K",
    "0.01 client submit.ok K",
    "1 w9 attempt.start K attempt=1",
    "1.05 w9 effect K attempt=1",
    "1.1 w9 attempt.ok K attempt=1",
)
RAN = (*SUBMITTED, "1 w1 attempt.start A attempt=1", "1.05 w1 effect A attempt=1", "1.1 w1 attempt.ok A attempt=1")
FAILED = (*SUBMITTED, "1 w1 attempt.start A attempt=1", "1.1 w1 attempt.fail A attempt=1 error=transient")
DONE = final(done=["A"])


def fault(begun_s: float, healed_s: float | None, name: str = "service_killed", target: str = "rabbitmq") -> list[str]:
    steps = [
        f"{begun_s} lab fault.begin - fault={name} target={target}",
        f"{begun_s} lab fault.bit - fault={name} target={target}",
    ]
    return steps + ([] if healed_s is None else [f"{healed_s} lab fault.healed - fault={name} target={target}"])


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
        pytest.param(Cause.UNEXPLAINED, [*SUBMITTED, "0.9 w1 lease.acquired - resource=A ttl_s=20", *RAN[2:-1], *fault(2, 4, "process_paused", "w1"), *AGAIN], {}, id="its worker stood still, and its lease had not run out"),
        pytest.param(Cause.UNEXPLAINED, [*RAN[:-1], "6 lab fault.begin - fault=process_paused target=w1", "6 lab fault.bit - fault=process_paused target=w1", *AGAIN], {}, id="its worker stood still after the repeat"),
    ],
)  # fmt: skip
def test_the_cause_of_a_repeat_is_exact(cause: Cause, lines: list[str], policy: dict[str, object]) -> None:
    (repeats,) = repeats_of(history_of(*lines), policy_from(policy)).values()

    assert [repeat.cause for repeat in repeats] == [cause]


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


SLIDING = {"window": {"kind": "sliding", "n": 2, "per_s": 10}}
FIRST = {"window": {"kind": "fixed", "n": 2, "per_s": 10, "starts": "first"}}
BUCKET = {"window": {"kind": "bucket", "n": 1, "per_s": 10, "burst": 2}}


def limiter(*decisions: str) -> list[str]:
    return [f"{one[1:]} api {'allowed' if one[0] == '+' else 'denied'} - limit=l user=u" for one in decisions]


@pytest.mark.parametrize(
    ("expected", "lines", "policy"),
    [
        pytest.param("held", limiter("+1", "+2", "-11"), SLIDING, id="sliding, an edge counts as full"),
        pytest.param(("u",), limiter("+1", "+2", "-11.1"), SLIDING, id="sliding, with room"),
        pytest.param("held", limiter("+7", "+8", "-16.9"), FIRST, id="fixed from the first request, full"),
        pytest.param("held", limiter("+7", "+8", "-17"), FIRST, id="fixed from the first request, at its edge"),
        pytest.param(("u",), limiter("+7", "+8", "-17.1"), FIRST, id="fixed from the first request, over"),
        pytest.param("held", limiter("+1", "+1", "-11"), BUCKET, id="bucket, a token just then"),
        pytest.param(("u",), limiter("+1", "+1", "-11.1"), BUCKET, id="bucket, with a token"),
        pytest.param("held", [*limiter("+1", "-15"), *fault(6, 7, target="redis")], SLIDING, id="a fault on the cache within the window"),
        pytest.param(("u",), [*limiter("+1", "-18"), *fault(6, 7, target="redis")], SLIDING, id="a fault before the window"),
        pytest.param(("u",), [*limiter("+1", "-15"), *fault(6, 7, target="worker-1")], SLIDING, id="a fault elsewhere"),
        pytest.param("unknown", limiter("-15"), {}, id="no window stated"),
        pytest.param("held", ["1 api allowed - limit=l user=u", "2 api allowed - limit=l user=u", "11.5 api denied - limit=l user=u asked_s=10.5"], SLIDING, id="it may have been decided while full"),
    ],
)  # fmt: skip
def test_nothing_is_denied_while_there_is_room(expected: object, lines: list[str], policy: dict[str, object]) -> None:
    assert verdict(G.DENIED_ONLY_WHEN_FULL, lines, **policy) == expected


def of_user(task: str, start_s: float, end_s: float, worker: str, user: str = "u") -> list[str]:
    return [
        f"0 c submit.invoke {task} user={user}",
        f"0 c submit.ok {task}",
        f"{start_s} {worker} attempt.start {task}",
        f"{end_s} {worker} attempt.ok {task}",
    ]


BY_USER = {"concurrency": {"by": "user", "n": 1}}


@pytest.mark.parametrize(
    ("expected", "lines", "policy"),
    [
        pytest.param("held", [*of_user("A", 1, 5, "w1"), *of_user("B", 5, 9, "w2")], BY_USER, id="one begins as the other ends"),
        pytest.param(("u",), [*of_user("A", 1, 5, "w1"), *of_user("B", 4, 9, "w2")], BY_USER, id="two at once"),
        pytest.param("held", [*of_user("A", 1, 5, "w1"), *of_user("B", 4, 9, "w2", "v")], BY_USER, id="of two users"),
        pytest.param(("all",), [*of_user("A", 1, 5, "w1"), *of_user("B", 4, 9, "w2", "v")], {"concurrency": {"by": "all", "n": 1}}, id="of all"),
        pytest.param("held", [*of_user("A", 1, 5, "w1"), "3.5 w1 crash -", *of_user("B", 4, 9, "w2")], BY_USER, id="its worker had died"),
        pytest.param("held", [*of_user("A", 1, 5, "w1"), "4.2 w1 crash - asked_s=3.5", *of_user("B", 4, 9, "w2")], BY_USER, id="its worker may have died before"),
        pytest.param("held", [*of_user("A", 1, 5, "w1"), "0.9 w1 lease.acquired - resource=A ttl_s=3", *of_user("B", 4, 9, "w2")], BY_USER, id="its lease had run out"),
        pytest.param("held", [*of_user("A", 1, 5, "w1"), *fault(3, 9, "process_paused", "w1"), *of_user("B", 4, 9, "w2")], BY_USER, id="its worker stood still"),
        pytest.param(("u",), [*of_user("A", 1, 20, "w1"), *fault(3, 6, "process_paused", "w1"), *of_user("B", 4, 9, "w2")], BY_USER, id="its worker stood still, and went on"),
        pytest.param("unknown", of_user("A", 1, 5, "w1"), {}, id="no limit stated"),
    ],
)  # fmt: skip
def test_so_many_run_at_once(expected: object, lines: list[str], policy: dict[str, object]) -> None:
    assert verdict(G.CONCURRENCY_BOUNDED, [*lines, final(done=["A", "B"])], **policy) == expected


EVERY = {"every_s": 10, "since_s": 0, "until_s": 40}


def spawned(*pairs: tuple[float, float]) -> list[str]:
    return [f"{at_s} d spawn tick-{due_s:g}-{at_s:g} schedule=tick due_s={due_s}" for due_s, at_s in pairs]


ON_TIME = ((0, 0), (10, 10), (20, 20), (30, 30), (40, 40))
MISSED = ((0, 0), (40, 40))


@pytest.mark.parametrize(
    ("expected", "lines", "catch_up"),
    [
        pytest.param("held", spawned(*ON_TIME), "all", id="each once"),
        pytest.param(("tick",), spawned(*ON_TIME[:-1]), "all", id="the last one is missing"),
        pytest.param(("tick",), spawned(*ON_TIME, (20, 21)), "all", id="one twice"),
        pytest.param(("tick",), spawned(*ON_TIME, (50, 50)), "all", id="one after the end"),
        pytest.param("held", [*spawned(*MISSED, (10, 35), (20, 35), (30, 35)), *fault(5, 32)], "all", id="missed, and all came"),
        pytest.param(("tick",), [*spawned(*MISSED, (10, 35), (30, 35)), *fault(5, 32)], "all", id="missed, and one never came"),
        pytest.param("held", [*spawned(*MISSED, (30, 35)), *fault(5, 32)], "last", id="missed, and the newest came"),
        pytest.param(("tick",), [*spawned(*MISSED, (20, 35), (30, 35)), *fault(5, 32)], "last", id="missed, and an older one came, too"),
        pytest.param(("tick",), [*spawned(*MISSED), *fault(5, 32)], "last", id="missed, and the newest never came"),
        pytest.param("held", [*spawned(*MISSED), *fault(5, 32)], "none", id="missed, and none came"),
        pytest.param(("tick",), [*spawned(*MISSED, (30, 35)), *fault(5, 32)], "none", id="missed, and one came"),
        pytest.param("held", [*spawned(*ON_TIME), *fault(5, 32)], "none", id="none was missed"),
        pytest.param("held", [*spawned(*MISSED), "5 d crash -", "32 d restart -"], "none", id="missed in a crash"),
    ],
)  # fmt: skip
def test_each_occurrence_comes_once(expected: object, lines: list[str], catch_up: str) -> None:
    tasks = [event(line).task or "" for line in lines if " spawn " in line]
    lines = [*lines, *(f"60 w attempt.start {task}" for task in tasks), *(f"61 w attempt.ok {task}" for task in tasks)]

    assert (
        verdict(G.SCHEDULE_KEPT, [*lines, final(done=tasks)], schedules={"tick": {**EVERY, "catch_up": catch_up}})
        == expected
    )


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


def test_a_name_in_a_policy_that_no_judge_knows_is_named_with_the_nearest() -> None:
    policy = policy_from({"atempts_max": 3, "window": {"kind": "fixed", "n": 1, "per_s": 1, "brust": 2}})

    judgement = judge(Recorded(history_of(*RAN, DONE)), claims=None, policy=policy)

    assert judgement.warnings == (
        "the policy has a name that no judge knows: 'atempts_max'; the nearest is 'attempts_max'",
        "the policy's window has a name that no judge knows: 'brust'; the nearest is 'burst'",
    )


@pytest.mark.parametrize(
    "policy",
    [
        {"order": "parallel"},
        {"concurrency": {"by": "colour", "n": 1}},
        {"concurrency": {"by": "all", "n": -1}},
        {"schedules": {"a": {"every_s": 0}}},
        {"schedules": {"a": {"every_s": 1, "catch_up": "some"}}},
        {"execution_window": {"kind": "fixed", "n": 1}},
        {"window": {"kind": "fixed", "n": 1, "per_s": 1, "starts": "last"}},
        {"wait_s": {"1": -1}},
    ],
)
def test_a_policy_that_is_none_is_refused(policy: dict[str, object]) -> None:
    with pytest.raises(MalformedPolicy):
        policy_from(policy)


def written(place: Path, name: str, *lines: str | Event) -> Path:
    file = place / name
    events = [line if isinstance(line, Event) else event(line) for line in lines]
    file.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in events))
    return file


@pytest.mark.parametrize("large_bytes_min", [0, 10**9], ids=["prefiltered", "whole"])
def test_an_unsorted_history_is_read_where_that_is_said(
    large_bytes_min: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LARGE_BYTES_MIN", large_bytes_min)
    file = written(tmp_path, "history.jsonl", *reversed(RAN), DONE)

    refused = judge_path(file, JudgeOptions(frozenset({G.NO_LOST_TASK}))).judgement
    read = judge_path(file, JudgeOptions(frozenset({G.NO_LOST_TASK}), is_sorted=False)).judgement

    assert "--unsorted" in refused.malformed[0]
    assert (read.malformed, read.exit_code) == ((), 0)


@pytest.mark.parametrize("large_bytes_min", [0, 10**9], ids=["prefiltered", "whole"])
def test_a_process_that_tells_of_clients_or_the_lab_is_not_believed(
    large_bytes_min: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LARGE_BYTES_MIN", large_bytes_min)
    directory = RunDirectory(tmp_path)
    directory.create()
    written(tmp_path, "history.client.jsonl", *SUBMITTED)
    written(tmp_path, "history.outside.jsonl", RAN[3])
    written(tmp_path, "history.lab.jsonl", DONE)
    written(tmp_path, "history.w1.77.jsonl", RAN[2], RAN[4])
    facts = RunFacts(scenario="s", system="s", environment="e", seed=1, repeat="", claims=[G.NO_LOST_TASK.value])
    directory.seal(facts)
    believed = judge_run(directory)

    written(tmp_path, "history.w1.77.jsonl", RAN[2], RAN[4], "3 w1 redrive A", "4 w1 crash -")
    directory.seal(facts)
    forged = judge_run(directory)

    assert believed.exit_code == 0
    assert forged.exit_code == EXIT_UNKNOWN
    assert (
        "history.w1.77.jsonl was written by a process of the system, and tells of what it cannot know: crash, redrive"
        in forged.problems
    )


def test_a_run_without_its_facts_is_named(tmp_path: Path) -> None:
    (tmp_path / "run-1").mkdir()
    written(tmp_path / "run-1", "history.lab.jsonl", DONE)

    assert runs_without_facts(tmp_path) == [tmp_path / "run-1"]


def test_both_engines_know_when_the_record_ends(tmp_path: Path) -> None:
    late = "0 c submit.invoke A due_s=5", "0 c submit.ok A due_s=5"
    file = written(
        tmp_path, "history.jsonl", *late, *(line for one in range(3) for line in of_user(f"K{one}", 50, 51, f"w{one}"))
    )

    assert prefilter([file], policy_from({})).recorded.history.end_ns == read_files([file]).history.end_ns


def test_a_judgement_over_a_violated_assumption_can_be_written_down(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    directory.create()
    written(tmp_path, "history.lab.jsonl", *SUBMITTED, final(done=["A"]))
    directory.seal(
        RunFacts(scenario="s", system="s", environment="e", seed=1, repeat="", claims=[G.NO_LOST_TASK.value])
    )

    assert judge_run(directory).problems == ("A: listed as done, and never ran",)


LATE_NS = 300_000_000


@examples(60)
@given(legal_drafts(), st.randoms(use_true_random=False))
def test_what_the_lab_observes_late_breaks_no_promise(draft: Draft, random: Random) -> None:
    """A busy machine stamps a crash or a step of a fault up to 0.3 s after it happened, and says when it asked for it."""

    def observed(one: Event) -> Event:
        if not one.event.startswith(("crash", "restart", "fault.")):
            return one
        return msgspec.structs.replace(one, asked_ns=one.t_ns, t_ns=one.t_ns + random.randrange(LATE_NS))

    judgement = judge(Recorded(History(map(observed, draft.all_events()))), claims=G, policy=draft.policy)

    assert {one.guarantee: one.reason for one in judgement.verdicts if one.ruling is not Ruling.HELD} == {}

"""Old Jepsen histories come out as in Jepsen where both mean the same, and stricter where this lab means more."""

import json
from pathlib import Path

import pytest

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.jepsen.checkers import CHECKERS
from scenarios.judging.jepsen.edn import MalformedEdn, read_all
from scenarios.judging.jepsen.operations import MalformedHistory, operations_from, read_operations
from scenarios.judging.jepsen.verdicts import judge_jepsen
from scenarios.judging.verdict import Ruling

CASES = json.loads((Path(__file__).parent.parent / "cases" / "jepsen-queue-cases.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_of_jepsens_own_tests_comes_out_as_there(case: dict) -> None:
    history = operations_from(case["history"])

    result = CHECKERS[case["checker"]](history, case["params"].get("model", ""))

    assert {field: result.get(field) for field in case["expect"]} == case["expect"]


def ops(*lines: tuple[int, str, str, object]) -> list:
    return operations_from(
        {"process": process, "type": kind, "f": f, "value": value} for process, kind, f, value in lines
    )


def broken_by(history: list, checker: str | None = None) -> dict[Guarantee, tuple[str, ...]]:
    verdicts = judge_jepsen(history, checker).verdicts
    return {verdict.guarantee: verdict.witnesses for verdict in verdicts if verdict.ruling is Ruling.BROKEN}


def test_what_comes_out_twice_is_broken_here_and_valid_in_jepsen() -> None:
    history = ops(
        (0, "invoke", "enqueue", 1),
        (0, "ok", "enqueue", 1),
        (1, "ok", "dequeue", 1),
        (2, "ok", "dequeue", 1),
    )

    judgement = judge_jepsen(history)

    assert judgement.result["valid"] is True
    assert broken_by(history) == {Guarantee.EFFECT_AT_MOST_ONCE: ("1",)}
    assert judgement.exit_code == 1


def test_what_surely_failed_and_came_out_is_broken_here_and_recovered_in_jepsen() -> None:
    history = ops((0, "invoke", "enqueue", "x"), (0, "fail", "enqueue", "x"), (1, "ok", "dequeue", "x"))

    assert judge_jepsen(history).result["recovered"] == ["x"]
    assert broken_by(history) == {Guarantee.NO_PHANTOM_TASK: ("x",)}


def test_the_strict_reading_of_the_mixed_set_case_names_the_failed_add() -> None:
    case = next(one for one in CASES if "strict_expect" in one)

    broken = broken_by(operations_from(case["history"]), case["checker"])

    assert broken == {Guarantee.NO_LOST_TASK: ("1",), Guarantee.NO_PHANTOM_TASK: ("20", "30")}


def test_an_element_twice_in_one_read_is_found() -> None:
    history = ops((0, "invoke", "add", 1), (0, "ok", "add", 1), (1, "invoke", "read", None), (1, "ok", "read", [1, 1]))

    assert judge_jepsen(history).result["duplicated_count"] == 0
    assert broken_by(history) == {Guarantee.EFFECT_AT_MOST_ONCE: ("1",)}


def test_a_drain_takes_out_every_one_of_its_values() -> None:
    history = ops(
        *((0, kind, "enqueue", value) for value in (1, 2) for kind in ("invoke", "ok")),
        (1, "invoke", "drain", None),
        (1, "ok", "drain", [1, 2]),
    )

    assert judge_jepsen(history).exit_code == 0


def test_no_work_is_never_a_pass() -> None:
    judgement = judge_jepsen([], "total-queue")

    assert judgement.result["valid"] is True
    assert judgement.exit_code == 3


def test_json_and_edn_of_one_history_read_the_same() -> None:
    edn = b"""[{:type :invoke, :f :enqueue, :value 1, :process 0, :time 5, :index 0}
               ; a comment
               #jepsen.history.Op{:type :ok, :f :enqueue, :value "a\\nb", :process 0, :time 6, :index 1}
               {:type :info, :f :start, :process :nemesis, :value #{1 [2 nil]}}]"""
    as_json = [
        {"type": "invoke", "f": "enqueue", "value": 1, "process": 0, "time": 5, "index": 0},
        {"type": "ok", "f": "enqueue", "value": "a\nb", "process": 0, "time": 6, "index": 1},
        {"type": "info", "f": "start", "process": "nemesis", "value": [1, [2, None]]},
    ]

    assert read_operations(edn) == operations_from(as_json)
    assert read_operations("\n".join(map(json.dumps, as_json)).encode()) == operations_from(as_json)
    assert read_operations(json.dumps({"history": as_json}).encode()) == operations_from(as_json)


@pytest.mark.parametrize("text", ["{:a", "[1 2", ")", "{:a 1 :b}", '"open', "[" * 300, "#tag", "(]"])
def test_what_is_no_edn_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(MalformedEdn):
        list(read_all(text))


@pytest.mark.parametrize(
    "content", [b"\xff", b"{:type :ok}", b"3", b'[{"type": "done", "f": "read"}]', b'{"history": 7}']
)
def test_what_is_no_history_is_refused_with_a_reason(content: bytes) -> None:
    with pytest.raises(MalformedHistory):
        read_operations(content)


def test_a_crashed_drain_cannot_be_judged() -> None:
    with pytest.raises(MalformedHistory, match="a drain has an unknown outcome"):
        judge_jepsen(ops((0, "invoke", "drain", None), (0, "info", "drain", None)))

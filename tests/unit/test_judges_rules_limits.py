"""Limits from both sides, and the occurrences of a schedule."""

# ruff: noqa: E501, N817 -- a case is a line, and reads as one

import pytest

from scenarios.judging.guarantees import Guarantee as G
from tests.unit.rule_cases import event, fault, final, of_user, verdict

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

"""What a load test measured: times count from the planned instant, and a load that was not the one asked for shows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtests.arrivals import LoadPlan
from loadtests.exchange_files import HISTORY_FILE
from loadtests.figures import figures_of, is_as_planned, kept_up, percentiles
from scenarios.record.run_facts import LoadFigures, Percentiles

PLAN = LoadPlan(rate_per_s=10, duration_s=0.4, seed=1)
MS = 1_000_000


def sent(number: int, *, at_ms: float | None = None) -> dict[str, Any]:
    """The submission of task `number`, due a tenth of a second after the one before; sent when due, or at `at_ms`."""
    due_ms = (number - 1) * 100
    at = due_ms if at_ms is None else at_ms
    return {"event": "submit.invoke", "task": f"load-{number}", "t_ns": round(at * MS), "planned_ns": due_ms * MS}


def answered(number: int, at_ms: float, kind: str = "ok") -> dict[str, Any]:
    return {"event": f"submit.{kind}", "task": f"load-{number}", "t_ns": round(at_ms * MS), "id": "x"}


def effect(number: int, at_ms: float, kind: str = "effect") -> dict[str, Any]:
    return {"event": kind, "task": f"load-{number}", "t_ns": round(at_ms * MS)}


def write(file: Path, events: Sequence[Mapping[str, Any]], tail: str = "") -> None:
    file.write_text("".join(json.dumps({"actor": "x", **event}) + "\n" for event in events) + tail)


def figures(
    place: Path, submissions: Sequence[Mapping[str, Any]], effects: Sequence[Mapping[str, Any]] = (), tail: str = ""
) -> LoadFigures:
    write(place / HISTORY_FILE, submissions, tail)
    write(place / "history.outside.jsonl", effects)
    return figures_of(place, PLAN)


def test_a_load_as_planned_and_everything_done(tmp_path: Path) -> None:
    found = figures(
        tmp_path,
        [line for number in range(1, 5) for line in (sent(number), answered(number, (number - 1) * 100 + number))],
        [effect(number, (number - 1) * 100 + 10 * number) for number in range(1, 5)],
    )

    assert found == LoadFigures(
        planned=4,
        sent=4,
        on_time=4,
        acknowledged=4,
        refused=0,
        unknown=0,
        planned_per_s=10,
        offered_per_s=10.0,
        latest_s=0.0,
        answers=Percentiles(0.002, 0.004, 0.004, 0.004),
        effects=Percentiles(0.02, 0.04, 0.04, 0.04),
        without_effect=0,
        backlog=0,
        caught_up_s=-0.06,
    )
    assert is_as_planned(found)


@pytest.mark.parametrize(("done", "is_kept_up"), [(10, True), (9, False)])
def test_a_system_kept_up_if_no_more_was_open_than_comes_in_within_a_second(
    done: int, is_kept_up: bool, tmp_path: Path
) -> None:
    found = figures(
        tmp_path, [sent(number) for number in range(1, 21)], [effect(number, 1) for number in range(1, done + 1)]
    )

    assert kept_up(found) is is_kept_up


def test_times_count_from_the_planned_instant_not_from_when_a_late_generator_sent(tmp_path: Path) -> None:
    found = figures(tmp_path, [sent(1, at_ms=90), answered(1, 95)], [effect(1, 99)])

    assert found.answers == Percentiles(0.095, 0.095, 0.095, 0.095)
    assert found.effects == Percentiles(0.099, 0.099, 0.099, 0.099)


def test_a_submission_that_nobody_answered_counts_with_the_time_until_it_was_given_up(tmp_path: Path) -> None:
    found = figures(tmp_path, [sent(1), sent(2), answered(1, 3), answered(2, 5100, "info")])

    assert found.answers == Percentiles(0.003, 5.0, 5.0, 5.0)
    assert (found.acknowledged, found.unknown) == (1, 1)


@pytest.mark.parametrize(
    ("late_ms", "on_time", "as_planned"),
    [
        pytest.param(100, 4, True, id="at the limit"),
        pytest.param(101, 3, False, id="beyond it: three of four are too few"),
    ],
)
def test_a_load_that_was_not_sent_on_time_is_not_the_one_asked_for(
    late_ms: int, on_time: int, as_planned: bool, tmp_path: Path
) -> None:
    found = figures(tmp_path, [sent(1), sent(2), sent(3), sent(4, at_ms=300 + late_ms)])

    assert (found.on_time, is_as_planned(found)) == (on_time, as_planned)
    assert found.latest_s == late_ms / 1000


def test_a_load_that_was_stopped_half_way_is_not_the_one_asked_for(tmp_path: Path) -> None:
    found = figures(tmp_path, [sent(1), sent(2)])

    assert (found.planned, found.sent, found.unknown, is_as_planned(found)) == (4, 2, 2, False)


def test_refused_and_unknown_are_told_apart(tmp_path: Path) -> None:
    found = figures(
        tmp_path,
        [
            *(sent(number) for number in (1, 2, 3, 4)),
            answered(1, 5, "fail"),
            answered(2, 105, "info"),
            answered(3, 205),
        ],
    )

    assert (found.acknowledged, found.refused, found.unknown) == (1, 1, 2)


def test_the_first_accepted_effect_counts_of_every_task_that_was_submitted(tmp_path: Path) -> None:
    found = figures(
        tmp_path,
        [sent(1), answered(1, 2), sent(2), answered(2, 102, "info"), sent(3), answered(3, 202)],
        [effect(1, 5, "effect.rejected"), effect(1, 20), effect(1, 50), effect(2, 150), effect(9, 3)],
    )

    assert found.effects == Percentiles(0.02, 0.05, 0.05, 0.05)
    assert found.without_effect == 1  # the third, acknowledged


def test_the_backlog_is_what_was_sent_not_refused_and_without_effect_at_the_planned_end(tmp_path: Path) -> None:
    found = figures(
        tmp_path,
        [
            *(line for number in (1, 2) for line in (sent(number), answered(number, (number - 1) * 100 + 2))),
            *(sent(3), answered(3, 5200, "info")),  # nobody answered: it may be on its way
            *(sent(4), answered(4, 302, "fail")),
        ],
        [effect(1, 400), effect(2, 401), effect(3, 1600)],
    )

    assert found.backlog == 2  # the second and the third
    assert found.caught_up_s == 1.2


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    found = figures(tmp_path, [sent(1), answered(1, 2)], tail='{"event": "submit.in')

    assert (found.sent, found.acknowledged) == (1, 1)


def test_a_run_without_any_load_has_no_times(tmp_path: Path) -> None:
    found = figures_of(tmp_path, PLAN)

    assert (found.sent, found.answers, found.effects, found.offered_per_s) == (0, None, None, 0.0)


@given(st.lists(st.floats(0, 100), min_size=1))
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(values: list[float]) -> None:
    found = percentiles(values)

    assert found is not None
    for share, value_s in ((0.5, found.p50_s), (0.95, found.p95_s), (0.99, found.p99_s), (1.0, found.max_s)):
        rounded = [round(value, 4) for value in values]
        assert value_s in rounded
        assert sum(value <= value_s for value in rounded) >= share * len(values)
        assert sum(value < value_s for value in rounded) < share * len(values)

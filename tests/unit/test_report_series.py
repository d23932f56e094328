"""What the charts show, counted from small histories; expected values are whole."""

import pytest

from reports.series import Dot, Latency, interval_for, percentile, series_of
from scenarios.record.history import NS_PER_S, Event, History


def seen(*rows: tuple[float, str, dict[str, object]]) -> History:
    return History(
        Event(event=event, actor="anyone", t_ns=round(at_s * NS_PER_S), **fields) for at_s, event, fields in rows
    )


def task(name: str) -> dict[str, object]:
    return {"task": name}


def test_rates_are_counts_per_interval_scaled_to_a_second() -> None:
    history = seen(
        (0.05, "submit.invoke", task("a")),
        (0.10, "submit.ok", task("a")),
        (0.25, "submit.invoke", task("b")),
        (0.30, "submit.info", task("b")),
        (0.45, "submit.invoke", task("c")),
        (0.46, "submit.fail", task("c")),
        (0.50, "effect", task("a")),
        (0.55, "effect.rejected", task("a")),
        (0.56, "attempt.ok", task("a")),
        (0.60, "attempt.fail", {"task": "b", "error": "transient"}),
    )

    series = series_of(history, round(0.6 * NS_PER_S))

    assert series.edges_s == (0.0, 0.2, 0.4, 0.6)
    assert series.rates == {
        "sent": (5.0, 5.0, 5.0),
        "acknowledged": (5.0, 0.0, 0.0),
        "not_acknowledged": (0.0, 5.0, 5.0),
        "effects": (0.0, 0.0, 5.0),
        "refused": (0.0, 0.0, 5.0),
        "completed": (0.0, 0.0, 5.0),
        "failed": (0.0, 0.0, 5.0),
    }


def test_an_open_task_is_one_acknowledged_and_not_yet_ended() -> None:
    history = seen(
        (0.1, "submit.ok", task("done")),
        (0.1, "submit.ok", task("dead")),
        (0.1, "submit.ok", task("failed")),
        (0.1, "submit.ok", task("cancelled")),
        (0.1, "submit.ok", task("open")),
        (0.1, "submit.info", task("never told")),
        (0.3, "attempt.ok", task("done")),
        (0.5, "dead", {"task": "dead", "attempts": 3, "reason": "exhausted"}),
        (0.7, "state", {"task": "failed", "to": "FAILED"}),
        (0.9, "cancel.ok", task("cancelled")),
    )

    series = series_of(history, NS_PER_S)

    assert series.open_tasks == (0, 5, 4, 3, 2, 1)
    assert series.open_max == 5
    assert series.unended == ("open",)


def test_a_task_that_ends_before_its_submission_is_answered_was_never_open() -> None:
    history = seen((0.1, "submit.invoke", task("a")), (0.15, "attempt.ok", task("a")), (0.19, "submit.ok", task("a")))

    series = series_of(history, round(0.4 * NS_PER_S))

    assert series.open_tasks == (0, 0, 0)
    assert series.unended == ()


def test_a_redriven_task_is_open_again() -> None:
    history = seen(
        (0.1, "submit.ok", task("a")),
        (0.3, "dead", {"task": "a", "attempts": 3, "reason": "exhausted"}),
        (0.5, "redrive", task("a")),
    )

    assert series_of(history, round(0.6 * NS_PER_S)).unended == ("a",)


def test_an_effect_ends_a_task_where_no_end_of_an_attempt_is_ever_recorded() -> None:
    history = seen((0.1, "submit.ok", task("a")), (0.3, "effect", task("a")))

    assert series_of(history, round(0.6 * NS_PER_S)).open_tasks == (0, 1, 0, 0)


def test_what_the_final_account_lists_as_ended_has_ended() -> None:
    history = seen(
        (0.1, "submit.ok", task("a")),
        (0.1, "submit.ok", task("b")),
        (0.5, "final", {"healed": True, "caught_up": False, "expired": ("a",), "pending": ("b",)}),
    )

    series = series_of(history, round(0.6 * NS_PER_S))

    assert series.unended == ("b",)
    assert series.open_tasks == (0, 2, 2, 1)


def test_latency_runs_from_the_first_submission_to_the_first_accepted_effect() -> None:
    history = seen(
        (0.1, "submit.invoke", task("a")),
        (0.15, "submit.info", task("a")),
        (0.2, "submit.invoke", task("a")),
        (0.2, "submit.invoke", task("b")),
        (0.21, "submit.ok", task("b")),
        (0.3, "effect.rejected", task("a")),
        (0.4, "effect", task("a")),
        (0.5, "effect", task("a")),
        (0.5, "submit.invoke", task("c")),
        (0.51, "submit.ok", task("c")),
        (0.55, "submit.invoke", task("d")),
        (0.56, "submit.ok", task("d")),
        (0.57, "cancel.ok", task("d")),
        (0.6, "effect", task("b")),
    )

    latency = series_of(history, round(0.6 * NS_PER_S)).latency

    assert latency == Latency(
        measured=2,
        median_of_all_s=0.3,
        p95_of_all_s=0.4,
        worst_of_all_s=0.4,
        dots=(Dot(0.1, 0.3, "a"), Dot(0.2, 0.4, "b")),
        median_s=(0.3, 0.4, None),
        p95_s=(0.3, 0.4, None),
        worst_s=(0.3, 0.4, None),
        never=1,
        never_s=(0.5,),
    )


def test_more_tasks_than_dots_allowed_leave_percentiles_and_no_dots() -> None:
    history = seen(
        *((0.0, "submit.invoke", task(f"t{n}")) for n in range(100)),
        *((0.1 + n * 0.01, "effect", task(f"t{n}")) for n in range(100)),
    )

    latency = series_of(history, round(1.2 * NS_PER_S), dots_max=99).latency

    assert latency.dots == ()
    assert (latency.median_s[0], latency.p95_s[0], latency.worst_s[0]) == (0.59, 1.04, 1.09)
    assert latency.measured == 100


def test_an_empty_history_has_one_empty_interval() -> None:
    series = series_of(History([]), 0)

    assert series.edges_s == (0.0, 0.2)
    assert set(series.rates.values()) == {(0.0,)}
    assert series.latency.median_of_all_s is None


@pytest.mark.parametrize(
    ("length_s", "interval_s"), [(0, 0.2), (16, 0.2), (16.1, 0.5), (61, 1.0), (3600, 60.0), (10**7, 126_000.0)]
)
def test_the_interval_is_the_shortest_round_one_that_gives_at_most_eighty(length_s: float, interval_s: float) -> None:
    assert interval_for(length_s) == interval_s


@pytest.mark.parametrize(("share", "value"), [(0.5, 2.0), (0.51, 3.0), (0.95, 4.0), (1.0, 4.0), (0.001, 1.0)])
def test_a_percentile_is_a_value_that_was_seen(share: float, value: float) -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], share) == value

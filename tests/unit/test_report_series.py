"""What the charts show, counted from small histories; expected values are whole."""

import pytest

from reports.series import Dot, Latency, interval_for, percentile, series_of
from scenarios.record.history import NS_PER_S
from tests.histories import history


def test_rates_are_counts_per_interval_scaled_to_a_second() -> None:
    seen = history(
        """
        0.05  client   submit.invoke    a
        0.10  client   submit.ok        a
        0.25  client   submit.invoke    b
        0.30  client   submit.info      b
        0.45  client   submit.invoke    c
        0.46  client   submit.fail      c
        0.50  outside  effect           a
        0.55  outside  effect.rejected  a
        0.56  worker   attempt.ok       a
        0.60  worker   attempt.fail     b error=transient
        """
    )

    series = series_of(seen, round(0.6 * NS_PER_S))

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
    seen = history(
        """
        0.1  client    submit.ok    done
        0.1  client    submit.ok    dead
        0.1  client    submit.ok    failed
        0.1  client    submit.ok    cancelled
        0.1  client    submit.ok    open
        0.1  client    submit.info  "never told"
        0.3  worker    attempt.ok   done
        0.5  database  dead         dead attempts=3 reason=exhausted
        0.7  database  state        failed to=FAILED
        0.9  client    cancel.ok    cancelled
        """
    )

    series = series_of(seen, NS_PER_S)

    assert series.open_tasks == (0, 5, 4, 3, 2, 1)
    assert series.open_max == 5
    assert series.unended == ("open",)


def test_a_change_at_the_edge_of_two_intervals_counts_in_the_earlier_one() -> None:
    assert series_of(history("0.2 client submit.ok a"), round(0.4 * NS_PER_S)).open_tasks == (0, 1, 1)


def test_a_task_that_ends_before_its_submission_is_answered_was_never_open() -> None:
    seen = history(
        """
        0.1   client  submit.invoke  a
        0.15  worker  attempt.ok     a
        0.19  client  submit.ok      a
        """
    )

    series = series_of(seen, round(0.4 * NS_PER_S))

    assert series.open_tasks == (0, 0, 0)
    assert series.unended == ()


def test_a_redriven_task_is_open_again() -> None:
    seen = history(
        """
        0.1  client    submit.ok  a
        0.3  database  dead       a attempts=3 reason=exhausted
        0.5  person    redrive    a
        """
    )

    assert series_of(seen, round(0.6 * NS_PER_S)).unended == ("a",)


def test_an_effect_ends_a_task_where_no_end_of_an_attempt_is_ever_recorded() -> None:
    seen = history(
        """
        0.1  client   submit.ok  a
        0.3  outside  effect     a
        """
    )

    assert series_of(seen, round(0.6 * NS_PER_S)).open_tasks == (0, 1, 0, 0)


def test_what_the_final_account_lists_as_ended_has_ended() -> None:
    seen = history(
        """
        0.1  client  submit.ok  a
        0.1  client  submit.ok  b
        0.5  lab     final      caught_up=false expired=a pending=b
        """
    )

    series = series_of(seen, round(0.6 * NS_PER_S))

    assert series.unended == ("b",)
    assert series.open_tasks == (0, 2, 2, 1)


def test_latency_runs_from_the_first_submission_to_the_first_accepted_effect() -> None:
    seen = history(
        """
        0.1   client   submit.invoke    a
        0.15  client   submit.info      a
        0.2   client   submit.invoke    a
        0.2   client   submit.invoke    b
        0.21  client   submit.ok        b
        0.3   outside  effect.rejected  a
        0.4   outside  effect           a
        0.5   outside  effect           a
        0.5   client   submit.invoke    c
        0.51  client   submit.ok        c
        0.55  client   submit.invoke    d
        0.56  client   submit.ok        d
        0.57  client   cancel.ok        d
        0.6   outside  effect           b
        """
    )

    latency = series_of(seen, round(0.6 * NS_PER_S)).latency

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
    seen = history(
        *(f"0 client submit.invoke t{n}" for n in range(100)),
        *(f"{0.1 + n * 0.01} outside effect t{n}" for n in range(100)),
    )

    latency = series_of(seen, round(1.2 * NS_PER_S), dots_max=99).latency

    assert latency.dots == ()
    assert (latency.median_s[0], latency.p95_s[0], latency.worst_s[0]) == (0.59, 1.04, 1.09)
    assert latency.measured == 100


def test_an_empty_history_has_one_empty_interval() -> None:
    series = series_of(history(), 0)

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

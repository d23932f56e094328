"""The notation for histories: each form of a line, and an error that names the line."""

from pathlib import Path

import pytest

from scenarios.judging.policy import Policy
from scenarios.record.events import NS_PER_S, Event
from tests import case_tables
from tests.case_tables import BadRow, cases_in
from tests.histories import BadLine, event, events, history


def test_a_line_is_a_time_an_actor_an_event_its_task_and_its_fields() -> None:
    line = "1.5  w1  attempt.fail  A  attempt=2 error=transient"

    assert event(line) == Event(
        t_ns=1_500_000_000, actor="w1", event="attempt.fail", task="A", attempt=2, error="transient"
    )


def test_an_event_without_a_task_has_none() -> None:
    assert event("0 w1 lease.acquired resource=r ttl_s=0.5") == Event(
        t_ns=0, actor="w1", event="lease.acquired", resource="r", ttl_s=0.5
    )


@pytest.mark.parametrize(
    ("written", "step"), [("step=2", 2), ("step=charge", "charge"), ('step="2"', "2"), ('step="a b; c=d"', "a b; c=d")]
)
def test_a_step_is_a_number_if_it_looks_like_one_and_is_not_quoted(written: str, step: int | str) -> None:
    assert event(f"0 w effect A {written}").step == step


def test_an_interval_is_when_the_actor_asked_and_when_it_saw_the_answer() -> None:
    seen = event("1..1.25 reader status A state=RUNNING")

    assert (seen.asked_ns, seen.t_ns) == (NS_PER_S, 1_250_000_000)


def test_a_fault_is_four_events_and_an_open_one_two() -> None:
    healed = [(one.t_ns // NS_PER_S, one.event, one.target) for one in events("2..3 lab fault fault=k target=w")]
    open_ = [one.event for one in events("2.. lab fault fault=k target=w")]

    assert healed == [
        (2, "fault.begin", "w"),
        (2, "fault.bit", "w"),
        (3, "fault.end", "w"),
        (3, "fault.healed", "w"),
    ]
    assert open_ == ["fault.begin", "fault.bit"]


def test_the_account_is_healed_caught_up_and_empty_unless_it_says_otherwise() -> None:
    said = event("9 lab final caught_up=false done=A,B pending=null")

    assert said == Event(
        t_ns=9 * NS_PER_S,
        actor="lab",
        event="final",
        healed=True,
        caught_up=False,
        done=("A", "B"),
        dead=(),
        cancelled=(),
        expired=(),
        pending=None,
    )


def test_a_history_is_in_the_order_of_its_times_and_lines_of_one_time_keep_theirs() -> None:
    seen = history(
        """
        # Blank lines and comments are no events.
        2 w crash

        1 b crash
        """,
        "1 a crash",
    )

    assert [one.actor for one in seen.events] == ["b", "a", "w"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("1 w", "a line holds a time, an actor and the name of an event"),
        ("soon w crash", "'soon' is no time: write seconds, as 1.5, or from..to"),
        ("1 w crsh", "unknown event 'crsh'; did you mean 'crash'?"),
        ("1 w effect A fense=1", "no event has a field 'fense'; did you mean 'fence'?"),
        ("1 w effect A fence=1 fence=2", "'fence' is given twice"),
        ("1 w effect A B", "'B' is no name=value"),
        ("1 w attempt.start", "attempt.start without 'task'"),
        ("1 w attempt.start A attempt=x", "attempt=x is no int | None"),
        ("1 w attempt.start A attempt=1.5", "Expected `int | null`, got `float` - at `$.attempt`"),
        ('1 w effect A step="1', "a quote is not closed"),
        ("1.. w crash", "only a fault can stay open"),
        ("9 lab final done=A,A", "final names task 'A' twice in 'done'"),
    ],
)
def test_a_line_that_is_no_event_is_named_with_what_is_wrong(line: str, why: str) -> None:
    with pytest.raises(BadLine) as raised:
        events("0 w crash", line)

    assert str(raised.value) == f"line 2, {line!r}: {why}"


def test_a_bad_row_of_a_table_is_named_by_its_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_tables, "CASES", tmp_path)
    (tmp_path / "bad.txt").write_text("# A table.\n[no_lost_task]\nheld | well | 0 w crash\nheld | bad | 0 w crsh\n")

    with pytest.raises(BadRow) as raised:
        cases_in("bad.txt")

    assert str(raised.value) == "bad.txt:4: line 1, '0 w crsh': unknown event 'crsh'; did you mean 'crash'?"


def test_a_row_goes_on_below_and_names_pieces_of_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_tables, "CASES", tmp_path)
    rows = [
        "SUBMITTED = 0 c submit.invoke A",
        "[poison_bounded attempts_max=2]",
        "held | it | SUBMITTED;",
        "     1 w crash",
    ]
    (tmp_path / "table.txt").write_text("\n".join(rows))

    (case,) = cases_in("table.txt")

    assert (str(case), case.expected, case.policy) == ("poison_bounded: it", "held", Policy(attempts_max=2))
    assert case.history.events == events("0 c submit.invoke A", "1 w crash")

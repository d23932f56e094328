"""The rows of a journey: its events, the faults it lived through, its silences, and the thread through the lanes."""

from reports.journeys import JOURNEYS_MAX, Journey, Row, journeys_of
from reports.judgement import Account, Judgement, Moment, Ruled
from reports.timeline import Timeline
from scenarios.judging.verdict import Ruling
from scenarios.record.history import NS_PER_S
from scenarios.record.run_facts import FaultRecord

QUIET = Timeline(end_ns=20 * NS_PER_S, phases=(), strikes=())
KILL = FaultRecord(
    fault="service_killed",
    target="rabbitmq",
    when="",
    begun_ns=2 * NS_PER_S,
    bit_ns=2 * NS_PER_S + 100_000_000,
    ended_ns=5 * NS_PER_S,
    healed_ns=6 * NS_PER_S,
    evidence="it is gone",
)
STORMY = Timeline(end_ns=20 * NS_PER_S, phases=(), strikes=(("A", KILL),))


def moment(at_s: float, lane: str, text: str, event: str = "state") -> Moment:
    return Moment(t_ns=round(at_s * NS_PER_S), actor=f"{lane}-1", lane=lane, event=event, text=text)


def broken(**witnesses: tuple[str, ...]) -> dict[str, Ruled]:
    return {name: Ruled(verdict=Ruling.BROKEN, witnesses=tasks) for name, tasks in witnesses.items()}


def test_a_thread_leads_through_the_lanes_from_event_to_event() -> None:
    moments = (moment(1.0, "client", "submits"), moment(1.2, "worker", "begins"), moment(1.3, "outside", "accepts"))

    journeys = journeys_of(Judgement(verdicts=broken(no_lost_task=("a",)), journeys={"a": moments}), QUIET)

    nothing: tuple[()] = ()
    across = ("left", "right")
    assert journeys == (
        Journey(
            "a",
            ("no_lost_task",),
            (
                Row(
                    kind="event",
                    text="submits",
                    at_ns=NS_PER_S,
                    offset="+0.000 s",
                    lane="client",
                    actor="client-1",
                    lines=(("down",), nothing, nothing, nothing, nothing, nothing),
                ),
                Row(
                    kind="event",
                    text="begins",
                    at_ns=1_200_000_000,
                    offset="+0.200 s",
                    lane="worker",
                    actor="worker-1",
                    lines=(("right", "up"), across, across, ("down", "left"), nothing, nothing),
                ),
                Row(
                    kind="event",
                    text="accepts",
                    at_ns=1_300_000_000,
                    offset="+0.300 s",
                    lane="outside",
                    actor="outside-1",
                    lines=(nothing, nothing, nothing, ("right", "up"), ("left",), nothing),
                ),
            ),
        ),
    )


def test_a_stuck_task_lives_through_the_fault_and_is_still_there_when_the_run_ends() -> None:
    judgement = Judgement(
        verdicts=broken(no_stuck_task=("a",)),
        account=Account(stuck=("a",)),
        journeys={"a": (moment(2.2, "client", "submits"),)},
    )

    (journey,) = journeys_of(judgement, STORMY)

    assert [(row.kind, row.offset, row.letters, row.text) for row in journey.rows] == [
        ("fault", "-0.200 s", ("A",), "fault A: service_killed on rabbitmq is asked for"),
        ("fault", "-0.100 s", ("A",), "fault A takes effect: it is gone"),
        ("event", "+0.000 s", ("A",), "submits"),
        ("pause", "", ("A",), "2.80 s in which nothing is seen of it"),
        ("fault", "+2.800 s", ("A",), "fault A is lifted"),
        ("pause", "", ("A",), "1.00 s in which nothing is seen of it"),
        ("fault", "+3.800 s", ("A",), "fault A is healed: rabbitmq is seen healthy"),
        (
            "end",
            "+17.800 s",
            (),
            "the run ends. Stuck: accepted, and not ended; nothing has happened to it for 17.8 s.",
        ),
    ]


def test_the_account_at_the_end_closes_a_journey_without_a_silence_before_it() -> None:
    moments = (moment(1.0, "client", "submits"), moment(15.0, "lab", "the end: the account lists it as done", "final"))

    (journey,) = journeys_of(Judgement(journeys={"a": moments}), QUIET)

    assert [(row.kind, row.offset, row.text) for row in journey.rows] == [
        ("event", "+0.000 s", "submits"),
        ("end", "+14.000 s", "the end: the account lists it as done"),
    ]


def test_a_task_that_ended_is_not_followed_beyond_its_last_event() -> None:
    moments = (moment(1.9, "client", "submits"), moment(2.3, "outside", "accepts"))

    (journey,) = journeys_of(Judgement(journeys={"a": moments}), STORMY)

    assert [row.text for row in journey.rows] == [
        "submits",
        "fault A: service_killed on rabbitmq is asked for",
        "fault A takes effect: it is gone",
        "accepts",
    ]


def test_what_is_seen_again_and_again_is_one_line_and_no_sign_of_life() -> None:
    reads = tuple(moment(at_s, "client", "reads ACCEPTED", "status") for at_s in (1.1, 1.9, 4.0, 19.0))
    judgement = Judgement(account=Account(stuck=("a",)), journeys={"a": (moment(1.0, "client", "submits"), *reads)})

    (journey,) = journeys_of(judgement, QUIET)

    assert [(row.kind, row.offset, row.text) for row in journey.rows] == [
        ("event", "+0.000 s", "submits"),
        ("event", "+0.100 s", "reads ACCEPTED, and again 3 times until +18.000 s"),
        (
            "end",
            "+19.000 s",
            "the run ends. Stuck: accepted, and not ended; nothing has happened to it for 19.0 s.",
        ),
    ]


def test_a_fault_that_was_healed_before_the_task_came_is_not_in_its_journey() -> None:
    (journey,) = journeys_of(Judgement(journeys={"a": (moment(6.5, "client", "submits"),)}), STORMY)

    assert [(row.text, row.letters) for row in journey.rows] == [("submits", ())]


def test_the_faults_of_a_history_are_not_told_twice() -> None:
    moments = (moment(1.0, "client", "submits"), moment(2.0, "lab", "the broker is killed", "fault.begin"))

    (journey,) = journeys_of(Judgement(journeys={"a": moments}), QUIET)

    assert [row.text for row in journey.rows] == ["submits"]


def test_the_first_witness_of_every_broken_promise_comes_before_anybodys_second() -> None:
    judgement = Judgement(
        verdicts=broken(no_lost_task=("a", "b"), no_stuck_task=("c", "b")),
        not_claimed=broken(order_kept=("d",)),
        journeys={task: (moment(1.0, "client", "submits"),) for task in "zdcba"},
    )

    journeys = journeys_of(judgement, QUIET)

    assert [(journey.task, journey.breaks) for journey in journeys] == [
        ("a", ("no_lost_task",)),
        ("c", ("no_stuck_task",)),
        ("b", ("no_lost_task", "no_stuck_task")),
        ("d", ("order_kept",)),
        ("z", ()),
    ]


def test_of_many_journeys_the_first_are_told_and_a_cut_one_says_so() -> None:
    events = (moment(1.0, "worker", "begins"), moment(1.1, "worker", "ends"))
    judgement = Judgement(journeys={f"t{n:03}": events for n in range(JOURNEYS_MAX + 5)}, left_out={"t001": 10})

    journeys = journeys_of(judgement, QUIET)

    assert len(journeys) == JOURNEYS_MAX
    assert [journey.left_out for journey in journeys[:3]] == [0, 10, 0]

"""The rows of a journey: its events, the faults it lived through, its silences, and the thread through the lanes."""

from reports.journeys import JOURNEYS_MAX, JourneyRow, JourneyTable, journeys_of
from reports.timeline import RunTimeline
from scenarios.judging.journey import JourneyStep
from scenarios.judging.judgement_record import AccountRecord, JudgementRecord, VerdictRecord
from scenarios.judging.verdict import Ruling
from scenarios.record.history import NS_PER_S
from scenarios.record.run_facts import FaultRecord

QUIET = RunTimeline(end_ns=20 * NS_PER_S, phases=(), faults=())
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
STORMY = RunTimeline(end_ns=20 * NS_PER_S, phases=(), faults=(("A", KILL),))


def step(at_s: float, lane: str, text: str, event: str = "state") -> JourneyStep:
    return JourneyStep(t_ns=round(at_s * NS_PER_S), actor=f"{lane}-1", lane=lane, event=event, text=text)


def broken(**witnesses: tuple[str, ...]) -> dict[str, VerdictRecord]:
    return {name: VerdictRecord(ruling=Ruling.BROKEN, witnesses=tasks) for name, tasks in witnesses.items()}


def test_a_thread_leads_through_the_lanes_from_event_to_event() -> None:
    steps = (step(1.0, "client", "submits"), step(1.2, "worker", "begins"), step(1.3, "outside", "accepts"))

    journeys = journeys_of(JudgementRecord(verdicts=broken(no_lost_task=("a",)), journeys={"a": steps}), QUIET)

    nothing: tuple[()] = ()
    across = ("left", "right")
    assert journeys == (
        JourneyTable(
            "a",
            ("no_lost_task",),
            (
                JourneyRow(
                    kind="event",
                    text="submits",
                    at_ns=NS_PER_S,
                    offset="+0.000 s",
                    lane="client",
                    actor="client-1",
                    lines=(("down",), nothing, nothing, nothing, nothing, nothing),
                ),
                JourneyRow(
                    kind="event",
                    text="begins",
                    at_ns=1_200_000_000,
                    offset="+0.200 s",
                    lane="worker",
                    actor="worker-1",
                    lines=(("right", "up"), across, across, ("down", "left"), nothing, nothing),
                ),
                JourneyRow(
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
    judgement = JudgementRecord(
        verdicts=broken(no_stuck_task=("a",)),
        account=AccountRecord(stuck=("a",)),
        journeys={"a": (step(2.2, "client", "submits"),)},
    )

    (journey,) = journeys_of(judgement, STORMY)

    assert [(row.kind, row.offset, row.letters, row.text) for row in journey.rows] == [
        ("fault", "-0.200 s", ("A",), "fault A: service_killed on rabbitmq begins"),
        ("fault", "-0.100 s", ("A",), "fault A takes effect: it is gone"),
        ("event", "+0.000 s", ("A",), "submits"),
        ("pause", "", ("A",), "2.80 s without any event of it"),
        ("fault", "+2.800 s", ("A",), "fault A is lifted"),
        ("pause", "", ("A",), "1.00 s without any event of it"),
        ("fault", "+3.800 s", ("A",), "fault A is healed: rabbitmq is seen healthy"),
        (
            "end",
            "+17.800 s",
            (),
            "the run ends. Stuck: accepted, and not ended; no event of it for 17.8 s.",
        ),
    ]


def test_the_account_at_the_end_closes_a_journey_without_a_silence_before_it() -> None:
    steps = (step(1.0, "client", "submits"), step(15.0, "lab", "the end: the account lists it as done", "final"))

    (journey,) = journeys_of(JudgementRecord(journeys={"a": steps}), QUIET)

    assert [(row.kind, row.offset, row.text) for row in journey.rows] == [
        ("event", "+0.000 s", "submits"),
        ("end", "+14.000 s", "the end: the account lists it as done"),
    ]


def test_a_task_that_ended_is_not_followed_beyond_its_last_event() -> None:
    steps = (step(1.9, "client", "submits"), step(2.3, "outside", "accepts"))

    (journey,) = journeys_of(JudgementRecord(journeys={"a": steps}), STORMY)

    assert [row.text for row in journey.rows] == [
        "submits",
        "fault A: service_killed on rabbitmq begins",
        "fault A takes effect: it is gone",
        "accepts",
    ]


def test_what_is_seen_again_and_again_is_one_line_and_no_sign_of_life() -> None:
    reads = tuple(step(at_s, "client", "reads ACCEPTED", "status") for at_s in (1.1, 1.9, 4.0, 19.0))
    judgement = JudgementRecord(
        account=AccountRecord(stuck=("a",)), journeys={"a": (step(1.0, "client", "submits"), *reads)}
    )

    (journey,) = journeys_of(judgement, QUIET)

    assert [(row.kind, row.offset, row.text) for row in journey.rows] == [
        ("event", "+0.000 s", "submits"),
        ("event", "+0.100 s", "reads ACCEPTED, and again 3 times until +18.000 s"),
        (
            "end",
            "+19.000 s",
            "the run ends. Stuck: accepted, and not ended; no event of it for 19.0 s.",
        ),
    ]


def test_a_fault_that_was_healed_before_the_task_came_is_not_in_its_journey() -> None:
    (journey,) = journeys_of(JudgementRecord(journeys={"a": (step(6.5, "client", "submits"),)}), STORMY)

    assert [(row.text, row.letters) for row in journey.rows] == [("submits", ())]


def test_the_faults_of_a_history_are_not_told_twice() -> None:
    steps = (step(1.0, "client", "submits"), step(2.0, "lab", "the broker is killed", "fault.begin"))

    (journey,) = journeys_of(JudgementRecord(journeys={"a": steps}), QUIET)

    assert [row.text for row in journey.rows] == ["submits"]


def test_the_first_witness_of_every_broken_guarantee_comes_before_anybodys_second() -> None:
    judgement = JudgementRecord(
        verdicts=broken(no_lost_task=("a", "b"), no_stuck_task=("c", "b")),
        not_claimed=broken(order_kept=("d",)),
        journeys={task: (step(1.0, "client", "submits"),) for task in "zdcba"},
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
    events = (step(1.0, "worker", "begins"), step(1.1, "worker", "ends"))
    judgement = JudgementRecord(journeys={f"t{n:03}": events for n in range(JOURNEYS_MAX + 5)}, left_out={"t001": 10})

    journeys = journeys_of(judgement, QUIET)

    assert len(journeys) == JOURNEYS_MAX
    assert [journey.left_out for journey in journeys[:3]] == [0, 10, 0]
